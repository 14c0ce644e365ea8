/** Sources of the catalogue's figures. If a figure comes from no document, its source says so. */
export const mlEngineering = "github.com/stas00/ml-engineering@744d01e compute/accelerator/README.md";
export const mlNetwork = "github.com/stas00/ml-engineering@744d01e network/README.md";
export const aiConfigurator = "github.com/ai-dynamo/aiconfigurator@095f58a systems/";
export const llmAnalysis = "github.com/cli99/llm-analysis@d841e40 gpu_configs/";
export const cloudTpuV3 = "cloud.google.com/tpu/docs/v3";
export const generalKnowledge = "general knowledge, not read in a document";
export const usualServers = "the network of servers usually sold with it; general knowledge";
