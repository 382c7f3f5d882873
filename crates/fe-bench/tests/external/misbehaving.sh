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
    # Floods, and what never comes.
    blank-flood) yes '' ;;
    space-flood) yes '                                        ' ;;
    zeros) cat /dev/zero ;;
    error-flood) yes 'an error' >&2 ;;
    unfinished) printf '{"protocol":1,' ; sleep 600 ;;
    stopped) kill -STOP $$ ;;
    held) sleep 600 & exit 0 ;;
    no-input) exec 0<&- ; sleep 600 ;;
    no-pipes) exec 0<&- 1>&- 2>&- ; sleep 600 ;;
    unendable) trap '' TERM INT HUP QUIT PIPE ; while : ; do sleep 600 ; done ;;
    # Ends.
    exit-0) exit 0 ;;
    exit-77) exit 77 ;;
    segmentation) kill -SEGV $$ ;;
    killed) kill -KILL $$ ;;
    coloured-crash) printf 'no\033[31m colour\033]0;title\007\302\233 here\n' >&2 ; exit 1 ;;
    # Those that it starts.
    daemon) setsid sleep 600 </dev/null >/dev/null 2>&1 & exit 3 ;;
    orphan) (setsid sh -c 'sleep 600 & sleep 600' </dev/null >/dev/null 2>&1 &) ; sleep 600 ;;
    # What is no answer.
    binary) head -c 4000 /dev/urandom | tr '\n' 'x' ; echo ;;
    coloured) printf '\033[2J\033[1;31m%s\n' "$head" ;;
    coloured-error) printf '%s,"status":"error","message":"\\u001b[2J\\u009b31m\\u202e gone"}\n' "$head" ;;
    long-error) printf '%s,"status":"error","message":"%s"}\n' "$head" "$(head -c 1000000 /dev/zero | tr '\0' 'e')" ;;
    long-key) printf '%s,"%s":1}\n' "$head" "$(head -c 1000000 /dev/zero | tr '\0' 'k')" ;;
    deep) printf '%s,"record":%s}\n' "$head" "$(head -c 1000000 /dev/zero | tr '\0' '[')" ;;
    words) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":["0","0"]}\n' "$head" "$probe" "$times" ;;
    boundless) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":[0,1e999]}\n' "$head" "$probe" "$times" ;;
    other-id) printf '{"protocol":1,"id":%s9,"status":"ok","probe":[%s],%s,%s}\n' "$id" "$probe" "$times" "$curve" ;;
    twice-a-key) printf '%s,"status":"ok","status":"error","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
    long-variance) printf '%s,"status":"ok","probe":[%s],%s,%s,"heterogeneity":[0,0,0]}\n' "$head" "$probe" "$times" "$curve" ;;
    negative-variance) printf '%s,"status":"ok","probe":[%s],%s,%s,"heterogeneity":[1,-1]}\n' "$head" "$probe" "$times" "$curve" ;;
    half-a-band) printf '%s,"status":"ok","probe":[%s],%s,%s,"lower":[0,0]}\n' "$head" "$probe" "$times" "$curve" ;;
    crossed-band) printf '%s,"status":"ok","probe":[%s],%s,%s,"lower":[0,1],"upper":[1,0]}\n' "$head" "$probe" "$times" "$curve" ;;
    # Files that are none, and files of others.
    fifo | device | link | folder | sparse | infinite | changed | replaced | gone | full)
      there=$(between '"folder":"' '"')
      case $effect in
        fifo) mkfifo "$there/effect.f64" ;;
        device) ln -s /dev/zero "$there/effect.f64" ;;
        link) ln -s data.f64 "$there/effect.f64" ;;
        folder) mkdir "$there/effect.f64" ;;
        sparse) truncate -s 100G "$there/effect.f64" ;;
        infinite) printf '\000\000\000\000\000\000\360\177\000\000\000\000\000\000\360\177' > "$there/effect.f64" ;;
        changed) printf '12345678' | dd of="$there/data.f64" bs=1 seek=80 conv=notrunc 2>/dev/null ;;
        replaced) rm "$there/data.f64" ; mkfifo "$there/data.f64" ;;
        gone) rm -rf "$there" ;;
        full) mkdir -p "$there/closed/inside" ; chmod 0 "$there/closed" ; exit 1 ;;
      esac
      case $effect in
        changed | replaced | gone) printf '%s,"status":"ok","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
        *) printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":"effect.f64"}\n' "$head" "$probe" "$times" ;;
      esac ;;
    coloured-record) printf '%s,"status":"ok","probe":[%s],%s,%s,"record":"\\u001b[2J\\u009b\\u007f\\u202e\302\233"}\n' "$head" "$probe" "$times" "$curve" ;;
    # Answers that count for something once.
    left-over)
      test -n "$written" || printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' > "$(between '"folder":"' '"')/effect.f64"
      written=yes
      printf '%s,"status":"ok","probe":[%s],%s,"x":[-1,1],"effect":"effect.f64"}\n' "$head" "$probe" "$times" ;;
    twice)
      printf '%s,"status":"ok","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve"
      printf '%s,"status":"ok","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
    spoiling)
      printf '12345678' | dd of="$(between '"folder":"' '"')/data.f64" bs=1 seek=80 conv=notrunc 2>/dev/null
      printf '%s,"status":"ok","probe":[%s],%s,%s}\n' "$head" "$probe" "$times" "$curve" ;;
  esac
done
