#!/bin/sh
# Answers like nvidia-smi on a machine with eight H100, for the queries that Headroom makes:
# --query-gpu=FIELD,… --format=csv,noheader,nounits
for argument in "$@"; do
  case $argument in
    --query-gpu=*) fields=${argument#--query-gpu=} ;;
  esac
done
[ -n "${fields:-}" ] || exit 2
for index in 0 1 2 3 4 5 6 7; do
  row=
  for field in $(echo "$fields" | tr , ' '); do
    case $field in
      index) value=$index ;;
      name) value="NVIDIA H100 80GB HBM3" ;;
      uuid) value="GPU-00000000-0000-0000-0000-00000000000$index" ;;
      memory.total) value=81559 ;;
      memory.used) value=1024 ;;
      utilization.*) value=0 ;;
      temperature.gpu) value=41 ;;
      power.draw*) value=118.42 ;;
      ecc.*) value=0 ;;
      *) value="[N/A]" ;;
    esac
    row="$row${row:+, }$value"
  done
  echo "$row"
done
