# A whole adapter in base R: copy it, and put your estimator where `pdp` is. docs/protocol.md explains it.

# JSON is R once its brackets and colons are, outside of strings; strings hold no escapes here.
read_json <- function(line) {
  parts <- strsplit(line, '"', fixed = TRUE)[[1]]
  code <- seq(1, length(parts), 2)
  for (pair in list(c("[{[]", "list("), c("[]}]", ")"), c(":", "="), c("null", "NULL")))
    parts[code] <- gsub(pair[1], pair[2], parts[code])
  eval(parse(text = paste(parts, collapse = '"'), keep.source = FALSE))
}
numbers <- function(x) {
  written <- replace(sprintf("%.17g", x), is.na(x), "null")
  paste0("[", paste(written, collapse = ","), "]")
}
read_raw <- function(path, count) readBin(path, "double", count, endian = "little")

# The value of a tree at rows X.
evaluate <- function(tree, X) {
  if (is.numeric(tree)) return(tree)
  if (is.character(tree)) return(X[, as.integer(substring(tree, 2))])
  parts <- lapply(tree[-1], evaluate, X)
  switch(tree[[1]], add = Reduce(`+`, parts), multiply = Reduce(`*`, parts),
    subtract = parts[[1]] - parts[[2]], divide = parts[[1]] / parts[[2]],
    power = parts[[1]]^parts[[2]], less = 1 * (parts[[1]] < parts[[2]]),
    less_equal = 1 * (parts[[1]] <= parts[[2]]), equal = 1 * (parts[[1]] == parts[[2]]),
    min = do.call(pmin, parts), max = do.call(pmax, parts), ln = log(parts[[1]]),
    "if" = ifelse(rep_len(parts[[1]] != 0, nrow(X)), rep_len(parts[[2]], nrow(X)),
      rep_len(parts[[3]], nrow(X))), do.call(tree[[1]], parts))
}

# Your estimator: increasing points, and the curve at them.
pdp <- function(X, model, feature, grid) {
  curve <- vapply(grid, function(x) { X[, feature] <- x; mean(model(X)) }, 0)
  list(x = grid, effect = curve)
}

# The answer that `work` makes of the rows and the model, with the time of both and the values at the probe.
measured <- function(request, work) {
  seconds <- rows <- 0
  model <- function(X) {
    started <- proc.time()[["elapsed"]]
    values <- numeric(nrow(X)) + evaluate(request$model, X)
    seconds <<- seconds + proc.time()[["elapsed"]] - started
    rows <<- rows + nrow(X)
    values
  }
  X <- matrix(read_raw(request$data, request$rows * request$features), request$rows)
  started <- proc.time()[["elapsed"]]
  found <- work(X, model)
  samples <- proc.time()[["elapsed"]] - started
  reply <- sprintf('"status":"ok","samples":[%g],"model_samples":[%g],"model_rows":%d',
    samples, seconds, as.integer(rows))
  probe <- model(matrix(unlist(request$probe), ncol = request$features, byrow = TRUE))
  paste0(reply, ",", found, ',"probe":', numbers(probe))
}

unsupported <- function(message) sprintf('"status":"unsupported","message":"%s"', message)

answer <- function(request) {
  if (request$effect != "pdp" || length(request$options) > 0)
    return(unsupported("only pdp, without options"))
  measured(request, function(X, model) {
    grid <- read_raw(request$grid, request$points)
    curve <- pdp(X, model, as.integer(substring(request$feature, 2)), grid)
    paste0('"x":', numbers(curve$x), ',"effect":', numbers(curve$effect))
  })
}

serve <- function() {
  input <- file("stdin", "r")
  while (length(line <- readLines(input, 1)) > 0) {
    request <- read_json(line)
    cat(sprintf('{"protocol":1,"id":%d,%s}\n', as.integer(request$id), answer(request)))
    flush(stdout())
  }
}
# Not where another adapter makes use of this file.
if (sys.nframe() == 0) serve()
