/** The demo's artifacts: the text, a model in two versions, and its evaluation. */
import { DEFAULT_TEAM } from "@headroom/engine";
import type { ArtifactContent, ArtifactName, Command } from "@headroom/model";

type Body<Kind extends Command["kind"]> = Omit<
  Command & { readonly kind: Kind },
  "commandId" | "actor" | "idempotencyKey"
>;

const named = (kind: ArtifactName["kind"], name: string): ArtifactName => ({ kind, team: DEFAULT_TEAM, name });

/** A digest for bytes that do not exist. */
const digestOf = (seed: number): string =>
  `sha256:${Array.from({ length: 64 }, (_, at) => ((seed * 7 + at * 5) % 16).toString(16)).join("")}`;

interface Registered extends Partial<ArtifactContent> {
  readonly uri: string;
  readonly seed: number;
  readonly aliases?: readonly string[];
}

const register = (
  artifact: ArtifactName,
  { uri, seed, aliases = [], ...content }: Registered,
): Body<"registerArtifact"> => ({
  kind: "registerArtifact",
  artifact: {
    ...artifact,
    bytes: seed * 1_300_000_000,
    inputs: [],
    ...content,
    digest: digestOf(seed),
    places: [{ store: "lake", uri, state: "verified" }],
  },
  aliases,
  reason: "",
});

export const demoArtifacts: readonly (Body<"registerArtifact"> | Body<"changeArtifact">)[] = [
  register(named("dataset", "support-chats"), {
    uri: "s3://lake/support-chats/v6",
    seed: 42,
    inputs: ["s3://lake/raw/2026"],
  }),
  register(named("model", "chat"), {
    uri: "s3://models/chat/1",
    seed: 12,
    inputs: ["dataset:support-chats"],
    metrics: { loss: 1.82 },
    parameters: { parameters: "8030261248", precision: "BF16" },
    aliases: ["production"],
  }),
  register(named("model", "chat"), {
    uri: "s3://models/chat/2",
    seed: 13,
    inputs: ["dataset:support-chats"],
    metrics: { loss: 1.64 },
    parameters: { parameters: "8030261248", precision: "BF16" },
  }),
  register(named("report", "chat-evaluation"), {
    uri: "s3://models/chat/2/evaluation.json",
    seed: 1,
    inputs: ["model:chat"],
  }),
  {
    kind: "changeArtifact",
    artifact: named("model", "chat"),
    change: { kind: "alias", alias: "production", number: 2 },
    reason: "passed the evaluation",
  },
];
