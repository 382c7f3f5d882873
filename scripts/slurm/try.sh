#!/usr/bin/env bash
# A study by Slurm on this machine alone: installs Slurm from Debian's packages if it is not there, starts it with two
# processors, submits four shards, takes one away while it runs, waits for the merge, compares the bytes with those of one
# run, and stops Slurm. Needs root, and fe-bench as FE_BENCH or on the PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo "try.sh: needs root, to start Slurm" >&2; exit 2; }
if ! command -v slurmctld > /dev/null || ! command -v slurmd > /dev/null; then
    apt-get install -qy --no-install-recommends slurmctld slurmd slurm-client munge > /dev/null
fi
fe_bench=$(command -v "${FE_BENCH:-fe-bench}") || { echo "try.sh: there is no fe-bench: set FE_BENCH" >&2; exit 2; }
export FE_BENCH=$fe_bench

place=$(mktemp -d)
chmod 755 "$place"
stop() {
    [ ! -s "$place/slurmd.pid" ] || kill "$(cat "$place/slurmd.pid")" 2> /dev/null || true
    [ ! -s "$place/slurmctld.pid" ] || kill "$(cat "$place/slurmctld.pid")" 2> /dev/null || true
    [ -z "${own_munge:-}" ] || kill "$own_munge" 2> /dev/null || true
    sleep 1
    rm -rf "$place"
}
trap stop EXIT

export SLURM_CONF=$place/slurm.conf
name=$(hostname -s)
mkdir "$place/state" "$place/spool"
cat > "$SLURM_CONF" << CONF
ClusterName=try
SlurmctldHost=$name(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
MinJobAge=3600
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=$name NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
if ! munge -n > /dev/null 2>&1; then
    [ -s /etc/munge/munge.key ] || { dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 status=none; }
    chown munge: /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
    mkdir -p /run/munge
    chown munge: /run/munge
    chmod 755 /run/munge
    runuser -u munge -- munged --foreground > "$place/munge.log" 2>&1 &
    own_munge=$!
    sleep 1
fi
slurmctld
slurmd -N "$name"
for _ in $(seq 60); do
    case $(sinfo -h -o %T 2> /dev/null) in idle*) break ;; esac
    sleep 0.5
done
case $(sinfo -h -o %T) in
    idle*) ;;
    *) cat "$place"/*.log >&2; echo "try.sh: Slurm did not start" >&2; exit 1 ;;
esac

cat > "$place/study.toml" << STUDY
about = "two estimators"
[[block]]
scenario = "friedman1"
N = [200, 1000]
replicates = 200
metrics = ["mse"]
keep = ["curves"]
estimator = [{ name = "pdp", grid = 30 }, { name = "ale", bins = [5, 20] }]
STUDY
"$FE_BENCH" run "$place/study.toml" --out "$place/one" > /dev/null
merge=$(scripts/slurm/submit.sh 4 "$place/many" "$place/study.toml" --seed 0)
array=$(squeue -h -o %A --name fe-bench | sort -n | head -1)
for _ in $(seq 120); do
    [ -z "$(ls "$place/many.shards" | grep '^2\.unfinished' || true)" ] || break
    sleep 0.1
done
scontrol requeue "${array}_2"
echo "shard 2 was taken away while it ran"
for _ in $(seq 600); do
    state=$(scontrol -o show job "$merge" | grep -o 'JobState=[A-Z_]*')
    case $state in
        *PENDING | *RUNNING | *COMPLETING | *CONFIGURING) sleep 0.5 ;;
        *) break ;;
    esac
done
[ "$state" = JobState=COMPLETED ] || {
    cat "$place"/many.shards/*.log >&2
    echo "try.sh: the merge is in $state" >&2
    exit 1
}
for file in cells.csv summary.csv curves.csv; do cmp "$place/one/$file" "$place/many/$file"; done
grep -q '"resumed": [1-9]' "$place/many/manifest.json" || { echo "try.sh: no shard was resumed" >&2; exit 1; }
echo "Slurm's four shards, one of them resumed, are the bytes of one run"
