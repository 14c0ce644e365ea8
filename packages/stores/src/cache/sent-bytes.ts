/**
 * Counts the bytes that a store sent for one content, over several transfers: a transfer that was cut continues with its parts, and
 * the parts of a process that was killed were sent without a report. The draft notes how many bytes of its parts are reported.
 */
import type { HeldDirectory } from "@headroom/platform";

const NOTE = "reported";
/** Digits of a safe integer. */
const NOTE_BYTES_MAX = 16;

export class SentBytes {
  #draft: HeldDirectory | null = null;
  /** Bytes of the draft that earlier transfers have reported. */
  #noted = 0;
  /** Bytes that this transfer has got. */
  #got = 0;
  #kept = 0;
  /** Bytes of complete parts, those of earlier transfers included. */
  #complete = 0;

  /** `onBytes` of the transfer, which also counts kept bytes. */
  readonly add = (bytes: number): void => void (this.#got += bytes);
  readonly keep = (bytes: number): void => {
    this.#kept += bytes;
    this.#complete += bytes;
  };
  readonly complete = (bytes: number): void => void (this.#complete += bytes);

  get isResumed(): boolean {
    return this.#kept > 0;
  }

  /** Reads how many bytes of the draft are reported. Called before the transfer. */
  async open(draft: HeldDirectory): Promise<void> {
    this.#draft = draft;
    const noted = Number(await draft.read(NOTE, NOTE_BYTES_MAX).catch(() => "0"));
    this.#noted = Number.isSafeInteger(noted) && noted > 0 ? noted : 0;
  }

  /** The bytes that no transfer has reported. They count as reported from now on. */
  async take(): Promise<number> {
    // A draft that is complete or gone needs no note.
    await this.#draft?.write(NOTE, String(this.#complete)).catch(() => {});
    return this.#got - Math.min(this.#noted, this.#kept);
  }

  /** The content is complete, and keeps no note. */
  async forget(): Promise<void> {
    const draft = this.#draft;
    this.#draft = null;
    await draft?.remove(NOTE);
  }
}
