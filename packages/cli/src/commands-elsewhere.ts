/** The commands of headroom for names that users know from Slurm, Kubernetes, Docker and SkyPilot. */

const here: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "apply -f FILE": ["create", "launch", "submit"],
    fleet: ["cluster", "clusters", "pools", "sinfo"],
    "history WORKLOAD": ["events"],
    history: ["accounting", "sacct"],
    "hold WORKLOAD": ["pause", "suspend"],
    list: ["get", "jobs", "ls", "ps", "queue", "squeue", "top", "workloads"],
    nodes: ["node", "scontrol"],
    "nodes drain NODE": ["cordon", "drain"],
    "nodes resume NODE": ["uncordon"],
    "release WORKLOAD": ["resume", "unpause"],
    "rerun WORKLOAD": ["requeue", "restart", "retry"],
    "run SCRIPT": ["sbatch"],
    "run -- COMMAND": ["exec", "srun", "train"],
    "show WORKLOAD": ["describe", "info", "inspect"],
    "stop WORKLOAD": ["cancel", "delete", "down", "kill", "rm", "scancel"],
    teams: ["accounts", "quota", "quotas", "team", "usage"],
    up: ["init", "server", "start"],
    "why WORKLOAD": ["explain"],
    "eta WORKLOAD": ["forecast", "when"],
    "gateway --config FILE": ["serve"],
  }).flatMap(([command, names]) => names.map((name) => [name, command] as const)),
);

/** The command of headroom for this name, with placeholders for its arguments; `undefined`: there is none. */
export const commandFor = (name: string): string | undefined => here.get(name);
