/** Kinds of models other than transformer language models, by `model_type`, with the reason why they are not sized. */
interface OtherKind {
  readonly names: RegExp;
  readonly kind: string;
  readonly why: string;
}

const kinds: readonly OtherKind[] = [
  {
    names: /dlrm|dcn-?v2|recommend|deepfm|wide.?(?:and|&).?deep|two.?tower|\bncf\b|hstu/i,
    kind: "a recommender",
    why: "its steps are lookups in embedding tables spread over the accelerators, which the performance model does not describe",
  },
  {
    names: /unet2d|stable.?diffusion|\bsd(?:xl|[123])|\bdit\b|diffusion|flux|pixart|hunyuan.?video|\bwan[\d-]|imagen/i,
    kind: "a diffusion model",
    why: "its steps are convolutions or two-stream attention over latents with frozen encoders, which the performance model does not describe",
  },
  {
    names: /resnet|convnext|efficientnet|mobilenet|retinanet|mask.?r-?cnn|\bssd\b|yolo|3d-?unet|unet3d|\bunet\b|vgg/i,
    kind: "a convolutional vision model",
    why: "its arithmetic is that of convolutions, which the performance model does not describe",
  },
  {
    names: /\bvit\b|vit_|\bvit-|swin|deit|dinov?\d?|\bclip\b|siglip|segformer|\bdetr\b|\bsam\b|beit/i,
    kind: "a vision transformer",
    why: "it attends to patches in both directions and has no vocabulary, which the performance model of causal language models does not describe",
  },
  {
    names: /whisper|wav2vec|conformer|rnn-?t|hubert|speech/i,
    kind: "a speech model",
    why: "its steps mix convolutions or recurrence with attention over frames, which the performance model does not describe",
  },
  {
    names: /\bbert\b|roberta|electra|deberta|\bt5\b|umt5|bart\b|rgat|\bgnn\b|graphsage|alphafold|openfold|evo\d?\b/i,
    kind: "an encoder or a network on other data",
    why: "it is no causal decoder, the only architecture that was measured",
  },
];

/** The reason why a model of another kind is not sized, or `undefined` if none of the names is known. */
export function otherModelReason(...names: readonly (string | undefined)[]): string | undefined {
  for (const name of names) {
    if (name === undefined) continue;
    const found = kinds.find((kind) => kind.names.test(name));
    if (found !== undefined) return `${name} is ${found.kind}: ${found.why}`;
  }
  return undefined;
}

/** Advice for planning a run of another kind of model. */
export const measureInstead = "a causal language model; for any other, measure a step on one node and scale it";
