#!/bin/sh
# An adapter that misbehaves as the effect of the request says. Its model is x2, the function of the
# scenario null-feature, and its curve is 0 at the ends of [-1, 1].

# The text between two others in a line.
between() { printf '%s\n' "$line" | sed "s/.*$1//; s/$2.*//"; }

curve='"x":[-1,1],"effect":[0,0]'
times='"samples":[0.25,0.5,1],"model_samples":[0.125,0.125,0.5],"model_rows":7'

while IFS= read -r line; do
  id=$(between '"id":' ',')
  effect=$(between '"effect":"' '"')
  probe=$(between '"probe":\[\[' '\]\]' | tr ']' '\n' | sed 's/^,\[//' | cut -d, -f2 | paste -s -d, -)
  head="{\"protocol\":1,\"id\":$id"
  case $effect in
    good) printf '\n%s,"status":"ok","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
    crash) echo 'first line' >&2; echo 'it is broken' >&2; exit 3 ;;
    silent) exec 1>&-; sleep 600 ;;
    hang)
      sleep 600 &
      echo $! > "$(between '"pid_file":"' '"')"
      wait ;;
    deaf) sleep 600 ;;
    not-a-number) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":[0,null]}\n' "$head" "$probe" "$times" ;;
    bare-nan) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":[0,NaN]}\n' "$head" "$probe" "$times" ;;
    short) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":[0]}\n' "$head" "$probe" "$times" ;;
    short-file)
      printf '1234567' > "$(between '"folder":"' '"')/effect.f64"
      printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":"effect.f64"}\n' "$head" "$probe" "$times" ;;
    other-folder) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":"../effect.f64"}\n' "$head" "$probe" "$times" ;;
    no-file) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":"none.f64"}\n' "$head" "$probe" "$times" ;;
    empty) printf '%s,"status":"ok","probe":[%s],%s,"x":[],"effect":[]}\n' "$head" "$probe" "$times" ;;
    falling) printf '%s,"status":"ok","probe":[%s],%s,"x":[1,-1],"effect":[0,0]}\n' "$head" "$probe" "$times" ;;
    no-times) printf '%s,"status":"ok","probe":[%s],%s}\n' "$head" "$probe" "$curve" ;;
    negative-time) printf '%s,"status":"ok","probe":[%s],"samples":[-1],"model_samples":[0],%s}\n' "$head" "$probe" "$curve" ;;
    wrong-probe) printf '%s,"status":"ok","probe":[%se9],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
    no-probe) printf '%s,"status":"ok",%s,%s}\n' "$head" "$times" "$curve" ;;
    wrong-version) printf '{"protocol":2,"id":%s,"status":"ok"}\n' "$id" ;;
    no-version) printf '{"id":%s,"status":"ok"}\n' "$id" ;;
    stale) printf '{"protocol":1,"id":0,"status":"ok","probe":[%s],%s,%s}\n' "$probe" "$times" "$curve" ;;
    chatter) echo 'fitting the model ...' ;;
    unknown-key) printf '%s,"status":"ok","probe":[%s],%s,%s,"effects":[1]}\n' "$head" "$probe" "$times" "$curve" ;;
    endless) while :; do printf '0000000000000000000000000000000000000000000000000000000000000000'; done ;;
    unsupported) printf '%s,"status":"unsupported","message":"not for me"}\n' "$head" ;;
    error) printf '%s,"status":"error","message":"a traceback\\nValueError: no"}\n' "$head" ;;
  esac
done
