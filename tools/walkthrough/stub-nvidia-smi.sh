#!/bin/sh
# Answers like nvidia-smi on a machine with eight H100, for the queries that Headroom makes:
# --query-gpu=FIELD,… --format=csv[,noheader],nounits
header=yes
for argument in "$@"; do
  case $argument in
    --query-gpu=*) fields=${argument#--query-gpu=} ;;
    --format=*noheader*) header= ;;
  esac
done
[ -n "${fields:-}" ] || exit 2

title() {
  case $1 in
    utilization.*) echo "$1 [%]" ;;
    memory.*) echo "$1 [MiB]" ;;
    power.*) echo "$1 [W]" ;;
    *) echo "$1" ;;
  esac
}

value() {
  case $1 in
    index) echo "$2" ;;
    name) echo "NVIDIA H100 80GB HBM3" ;;
    uuid) echo "GPU-00000000-0000-0000-0000-00000000000$2" ;;
    memory.total) echo 81559 ;;
    memory.used) echo 1024 ;;
    temperature.gpu) echo 41 ;;
    power.draw*) echo 118.42 ;;
    utilization.* | ecc.*) echo 0 ;;
    *) echo "[N/A]" ;;
  esac
}

# line CELL [INDEX]: one line with the cell of every field.
line() {
  row=
  for field in $(echo "$fields" | tr , ' '); do
    row="$row${row:+, }$("$1" "$field" "${2:-}")"
  done
  echo "$row"
}

[ -z "$header" ] || line title
for index in 0 1 2 3 4 5 6 7; do
  line value "$index"
done
