/** Words in cells of training measurements that change a prediction. */
import type { Recomputation } from "@headroom/perf";

type Fields = Readonly<Record<string, string>>;

const isFlag = (text: string): boolean => text === "0" || text === "1";

/** Columns in which a word changes the prediction, with a check of whether the word is known. */
const wordColumns: Readonly<Record<string, (text: string) => boolean>> = {
  recompute: isRecomputation,
  zero_stage: (text) => /^[0-3]$/.test(text),
  attn: (text) => ["mha", "gqa", "mqa", "mla"].includes(text),
  gated_ffn: isFlag,
  tied_emb: isFlag,
  flash_attn: isFlag,
  sequence_parallel: isFlag,
};

/**
 * The problem with the first unknown word, or `undefined` if all words are known. A default in place of an unknown word
 * would give the prediction for another run.
 */
export function unknownWord(fields: Fields): string | undefined {
  const wrong = Object.entries(wordColumns).find(([name, isKnown]) => {
    const text = fields[name] ?? "";
    return text !== "" && !isKnown(text);
  });
  if (wrong === undefined) return undefined;
  const [name] = wrong;
  const advice = name === "recompute" ? `; known: ${recomputationWords}` : "";
  return `${name} cannot be ${JSON.stringify(fields[name])}${advice}`;
}

const recomputationWords =
  "none, full, selective, names of Megatron Core's modules (core_attn, mlp, moe_act …), " +
  "policies of MaxText (minimal, save_…, custom, …_offloaded), partial";

const recomputationPolicy = /^(?:none|full|selective|partial\w*|custom\w*|minimal\w*|save_\w+|\w+_offloaded)$/;
const recomputedModule = /^(?:core_attn|layernorm|mla_up_proj|mlp|moe|moe_act|shared_experts)$/;

/**
 * Whether the text states a recomputation policy in one of three forms: a granularity of Megatron Core
 * (--recompute-granularity), a policy of MaxText (remat_policy), or a list of Megatron Core's modules
 * (--recompute-modules), which can be empty. A question mark after the policy marks a guess.
 */
function isRecomputation(stated: string): boolean {
  const text = stated.replace(/\?$/, "");
  const modules = text.split(/[[\]'"\s,;+]+/).filter((word) => word !== "");
  return recomputationPolicy.test(text) || modules.every((word) => recomputedModule.test(word));
}

export function readRecomputation(stated: string): Recomputation {
  const text = stated.replace(/\?$/, "");
  if (text === "full") return "full";
  if (text === "selective" || text === "core_attn") return "selective";
  // Some policies, for example of MaxText, keep a part of the matrix products of a layer.
  return /^(?:custom|save|partial)/.test(text) ? "partial" : "none";
}
