/** Reads lists of the control plane: with a time limit, within bounds, and without following redirects. */
import { secretOf, type SecretSource } from "../config/secrets.ts";

const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

export interface ControlPlaneAddress {
  readonly url: string;
  readonly token: SecretSource;
}

/** The JSON that the control plane answers. Throws with the reason if it answers anything else, or not in time. */
export async function askControlPlane(
  { url, token }: ControlPlaneAddress,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetch(new URL(path, url), {
    headers: { authorization: `Bearer ${secretOf(token)}`, accept: "application/json" },
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`it answers with status ${response.status}`);
  }
  return JSON.parse(await boundedText(response));
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > ANSWER_BYTES_MAX) throw new Error(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`);
  }
  return text + decoder.decode();
}
