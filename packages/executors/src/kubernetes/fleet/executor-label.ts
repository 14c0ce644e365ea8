/** Label of nodes that keeps adopted pods in their own cluster. */
export const EXECUTOR_LABEL = "kubernetes.executor";
