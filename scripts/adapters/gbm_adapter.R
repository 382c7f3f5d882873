# Friedman's H of R's gbm. Its function takes an object that gbm has fitted, and no other: trees are fitted to the values of the
# model at the rows, and what is told is the H of these trees. Above 1, which the package puts down to rounding, it tells none.
source("template.R")
suppressMessages(library(gbm))

# Options of `gbm`, as they are unless they are asked for.
defaults <- list(n.trees = 1000, interaction.depth = 3, shrinkage = 0.05)

answer <- function(request) {
  unknown <- setdiff(names(request$options), names(defaults))
  if (request$effect != "indices") return(unsupported("only indices"))
  if (length(unknown) > 0) return(unsupported(paste("no option", unknown[1])))
  options <- modifyList(defaults, request$options)
  if (request$rows < 22) return(unsupported("gbm fits no fewer than 22 rows"))
  measured(request, function(X, model) {
    rows <- setNames(data.frame(X), paste0("x", seq_len(ncol(X))))
    # All rows for each tree, so that nothing is drawn.
    fit <- gbm.fit(rows, model(X), distribution = "gaussian", n.trees = options$n.trees,
      interaction.depth = options$interaction.depth, shrinkage = options$shrinkage,
      bag.fraction = 1, verbose = FALSE)
    h2 <- function(of) {
      if (of$index != "h2.pair") return(NA_real_)
      interact.gbm(fit, rows, unlist(of$features), options$n.trees)^2
    }
    paste0('"indices":', numbers(vapply(request$indices, h2, 0)))
  })
}

serve()
