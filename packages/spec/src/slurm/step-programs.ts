/**
 * The programs `srun` and `scontrol` that a batch script finds in its PATH, as text in the language of `/bin/sh`. They need
 * nothing but the job's own directory: `$HEADROOM_SLURM_DIR`. The script runs on the first worker; the other workers wait
 * for steps in that directory (`agent`).
 */

/** Starts COUNT tasks on this worker and exits with the largest exit code. */
const step = String.raw`#!/bin/sh
# slurm-step FIRST COUNT COMMAND...: the tasks of a step on one worker, the first with number FIRST.
first=$1 count=$2
shift 2
number=0 pids=
file() {
  printf '%s' "$1" | sed "s|%t|$SLURM_PROCID|g;s|%n|$SLURM_NODEID|g;s|%[jA]|$SLURM_JOB_ID|g;s|%a|$SLURM_ARRAY_TASK_ID|g;s|%x|$SLURM_JOB_NAME|g;s|%N|$SLURMD_NODENAME|g"
}
while [ "$number" -lt "$count" ]; do
  (
    export SLURM_PROCID=$((first + number)) SLURM_LOCALID=$number
    [ -z "$HEADROOM_STEP_OUTPUT" ] || exec >"$(file "$HEADROOM_STEP_OUTPUT")"
    [ -z "$HEADROOM_STEP_ERROR" ] || exec 2>"$(file "$HEADROOM_STEP_ERROR")"
    unset HEADROOM_STEP_OUTPUT HEADROOM_STEP_ERROR HEADROOM_STEP_SIGNAL
    exec "$@"
  ) &
  pids="$pids $!" number=$((number + 1))
done
timer=
if [ -n "$HEADROOM_STEP_SIGNAL" ]; then
  wait_s=$((${"$"}{HEADROOM_STEP_SIGNAL#* } - $(date +%s)))
  (sleep "$wait_s" && kill -s "${"$"}{HEADROOM_STEP_SIGNAL% *}" $pids) >/dev/null 2>&1 &
  timer=$!
fi
trap : TERM INT HUP
code=0
for pid in $pids; do
  while :; do
    wait "$pid"
    own=$?
    kill -0 "$pid" 2>/dev/null || break
  done
  [ "$own" -le "$code" ] || code=$own
done
[ -z "$timer" ] || kill "$timer" 2>/dev/null
exit "$code"`;

const srun = String.raw`#!/bin/sh
# srun of a script that Headroom runs: starts the tasks of one step in the workload's allocation.
nodes= tasks= per_node= mpi=none
export HEADROOM_STEP_OUTPUT= HEADROOM_STEP_ERROR=
while [ $# -gt 0 ]; do
  value=
  case $1 in
    --) shift; break ;;
    --*=*) name=${"$"}{1%%=*} value=${"$"}{1#*=}; shift ;;
    --exclusive|--overlap|--exact|--label|--unbuffered|--kill-on-bad-exit|--no-kill|--pty|--quiet|--verbose|--overcommit|--oversubscribe|--preserve-env|--disable-status|--multi-prog|--contiguous|--spread-job|--use-min-nodes|--whole|--propagate)
      name=$1; shift ;;
    --*|-[AbcCdDeGiJLmMnNopqrStTwWx]) name=$1 value=${"$"}{2-}; shift; [ $# -eq 0 ] || shift ;;
    -[AbcCdDeGiJLmMnNopqrStTwWx]?*) value=${"$"}{1#-?}; name=${"$"}{1%"$value"}; shift ;;
    -*) name=$1; shift ;;
    *) break ;;
  esac
  case $name in
    -n|--ntasks) tasks=$value ;;
    -N|--nodes) nodes=${"$"}{value%%-*} ;;
    --ntasks-per-node) per_node=$value ;;
    -c|--cpus-per-task) export SLURM_CPUS_PER_TASK="$value" ;;
    -o|--output) HEADROOM_STEP_OUTPUT=$value ;;
    -e|--error) HEADROOM_STEP_ERROR=$value ;;
    --mpi) mpi=$value ;;
    -D|--chdir) cd -- "$value" || exit 1 ;;
    --multi-prog) echo 'srun: --multi-prog is not supported by Headroom' >&2; exit 1 ;;
  esac
done
[ $# -gt 0 ] || { echo 'srun: no command' >&2; exit 1; }
if [ -z "$tasks" ]; then
  if [ -n "$per_node" ]; then tasks=$((per_node * ${"$"}{nodes:-$SLURM_NNODES}))
  elif [ -n "$nodes" ]; then tasks=$((nodes * HEADROOM_SLURM_TASKS_PER_NODE))
  else tasks=$SLURM_NTASKS; fi
fi
[ -n "$nodes" ] || nodes=$SLURM_NNODES
[ "$nodes" -le "$tasks" ] || nodes=$tasks
if [ "$nodes" -gt "$SLURM_NNODES" ]; then
  echo "srun: the allocation has $SLURM_NNODES nodes, not $nodes" >&2
  exit 1
fi
number=0
while ! mkdir "$HEADROOM_SLURM_DIR/step.$number" 2>/dev/null; do number=$((number + 1)); done
here=$HEADROOM_SLURM_DIR/step.$number
export SLURM_STEP_ID=$number SLURM_STEPID=$number SLURM_NTASKS=$tasks SLURM_NPROCS=$tasks SLURM_STEP_NUM_TASKS=$tasks SLURM_STEP_NUM_NODES=$nodes
share=$((tasks / nodes)) extra=$((tasks % nodes))
mpiexec=
if [ "$mpi" != none ]; then
  [ "$mpi" = pmi2 ] || { echo "srun: --mpi=$mpi is not supported by Headroom; --mpi=pmi2 is, for programs with MPICH" >&2; exit 1; }
  # Hydra of MPICH names a proxy for each node instead of starting it. The proxies are the tasks of the step; they start the ranks.
  command -v mpiexec.hydra >/dev/null || { echo "srun: --mpi=pmi2 needs mpiexec.hydra of MPICH" >&2; exit 1; }
  hosts= node=0
  while [ "$node" -lt "$nodes" ]; do
    hosts="$hosts,node$node:$((share + (node < extra)))" node=$((node + 1))
  done
  mkfifo "$here/mpi" || exit 1
  mpiexec.hydra -rmk user -launcher manual -localhost "${"$"}{MASTER_ADDR:-127.0.0.1}" -hosts "${"$"}{hosts#,}" -n "$tasks" "$@" >"$here/mpi" &
  mpiexec=$!
  exec 3<"$here/mpi"
  while read -r word rest <&3; do
    case $word in HYDRA_LAUNCH:) echo "$rest" ;; HYDRA_LAUNCH_END) break ;; esac
  done >"$here/proxies"
  if [ -n "$HEADROOM_STEP_OUTPUT" ]; then cat <&3 >"$HEADROOM_STEP_OUTPUT" & else cat <&3 & fi
  output=$! share=1 extra=0 HEADROOM_STEP_OUTPUT=
  set -- sh -c 'eval "exec $(sed -n "$((SLURM_NODEID + 1))p" "$0")"' "$here/proxies"
fi
if [ "$SLURM_NNODES" -gt 1 ]; then
  quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
  {
    export -p
    printf 'cd -- %s\n' "$(quoted "$PWD")"
    printf 'step_nodes=%s step_share=%s step_extra=%s\nset -- ' "$nodes" "$share" "$extra"
    for word in "$@"; do quoted "$word"; done
    echo
  } >"$here/call"
  : >"$here/go"
fi
"$HEADROOM_SLURM_DIR/bin/slurm-step" 0 $((share + (extra > 0))) "$@"
code=$?
node=1
while [ "$node" -lt "$nodes" ]; do
  while [ ! -e "$here/exit.$node" ]; do sleep 0.2; done
  own=$(cat "$here/exit.$node")
  [ "$own" -le "$code" ] || code=$own
  node=$((node + 1))
done
if [ -n "$mpiexec" ]; then
  # Without a proxy, mpiexec would wait for ever.
  [ "$code" -eq 0 ] || (sleep 5 && kill -s KILL "$mpiexec") >/dev/null 2>&1 &
  wait "$mpiexec"
  own=$?
  wait "$output"
  [ "$own" -le "$code" ] || code=$own
fi
exit "$code"`;

const scontrol = String.raw`#!/bin/sh
# scontrol of a script that Headroom runs: only the names of the allocation's hosts.
case "$1 $2" in
  "show hostname"*) printf '%s\n' "${"$"}{3:-$SLURM_JOB_NODELIST}" | tr , '\n' ;;
  *) echo "scontrol: Headroom supports only scontrol show hostnames; see headroom --help" >&2; exit 1 ;;
esac`;

/** Loop of every worker after the first: runs its part of each step, until the script has ended. */
export const agent = String.raw`if [ "$SLURM_NODEID" != 0 ]; then
  number=0
  while [ ! -e "$HEADROOM_SLURM_DIR/end" ]; do
    here=$HEADROOM_SLURM_DIR/step.$number
    if [ ! -e "$here/go" ]; then
      sleep 0.2
      continue
    fi
    number=$((number + 1))
    (
      own_id=$SLURM_NODEID own_name=$SLURMD_NODENAME own_worker=$HEADROOM_WORKER_ID own_devices=$CUDA_VISIBLE_DEVICES own_rocr=$ROCR_VISIBLE_DEVICES
      . "$here/call"
      export SLURM_NODEID=$own_id SLURMD_NODENAME=$own_name HEADROOM_WORKER_ID=$own_worker CUDA_VISIBLE_DEVICES=$own_devices ROCR_VISIBLE_DEVICES=$own_rocr
      [ "$SLURM_NODEID" -lt "$step_nodes" ] || exit 0
      before=$((SLURM_NODEID < step_extra ? SLURM_NODEID : step_extra))
      "$HEADROOM_SLURM_DIR/bin/slurm-step" $((SLURM_NODEID * step_share + before)) $((step_share + (SLURM_NODEID < step_extra))) "$@"
      echo $? >"$here/exit.$SLURM_NODEID.new"
      mv "$here/exit.$SLURM_NODEID.new" "$here/exit.$SLURM_NODEID"
    ) &
  done
  exit 0
fi`;

/** The programs by name. */
export const stepPrograms: Readonly<Record<string, string>> = { "slurm-step": step, srun, scontrol };
