/**
 * Reads the state of a cluster through slurmrestd (slurm.schedmd.com/rest.html): over a socket of this machine, or over HTTP with a JSON web
 * token. Every request has a time limit and an answer of limited size.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestOptions } from "node:http";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { jobLines, nodeLines, partitionLines, unusable } from "./rest-answers.ts";

interface RestSettings {
  /** `unix:/path` or a URL. */
  readonly address: string;
  /** File with the token; it is read at each request, because tokens expire. */
  readonly tokenFile?: string | undefined;
  /** User of the token. */
  readonly user?: string | undefined;
  readonly timeoutMs: number;
}

/** Versions of the interface whose answers are known, newest first. */
const VERSIONS = ["v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40", "v0.0.39", "v0.0.38"];
/** A job has 4 KiB. Parsing holds up the control plane, so larger clusters are read by commands, which list own jobs alone. */
const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
const SHOWN_MAX = 200;

export class RestReader {
  readonly #settings: RestSettings;
  #version: string | null = null;

  constructor(settings: RestSettings) {
    this.#settings = settings;
  }

  async jobs(): Promise<string> {
    return jobLines(await this.#list("jobs"));
  }

  async nodes(): Promise<string> {
    return nodeLines(await this.#list("nodes"));
  }

  async partitions(): Promise<string> {
    return partitionLines(await this.#list("partitions"));
  }

  async #list(name: string): Promise<string> {
    this.#version ??= await this.#negotiate();
    try {
      return await this.#get(`/slurm/${this.#version}/${name}`);
    } catch (error) {
      // An upgrade may have removed the version.
      this.#version = null;
      throw error;
    }
  }

  /** The newest known version that the server describes. */
  async #negotiate(): Promise<string> {
    const description = await this.#get("/openapi/v3");
    const version = VERSIONS.find((each) => description.includes(each));
    if (version === undefined) throw unusable(`slurmrestd has none of the versions ${VERSIONS.join(", ")}`);
    return version;
  }

  async #get(path: string): Promise<string> {
    const { timeoutMs } = this.#settings;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const call = this.#request(path);
    const end = (reason: string): void => {
      reject(unusable(`slurmrestd: ${reason}`));
      call.destroy();
    };
    const timer = setTimeout(() => end(`no answer within ${timeoutMs} ms`), timeoutMs);
    call.on("error", ({ message }) => end(message));
    call.once("response", (response: IncomingMessage) => {
      const pieces: Buffer[] = [];
      let length = 0;
      response.on("data", (piece: Buffer) => {
        length += piece.length;
        pieces.push(piece);
        if (length > ANSWER_MAX_BYTES) end(`an answer of more than ${ANSWER_MAX_BYTES} bytes`);
      });
      response.on("error", ({ message }) => end(message));
      response.once("close", () => {
        const text = Buffer.concat(pieces).toString("utf8");
        if (!response.complete) end("the answer was cut off");
        else if (response.statusCode === 200) resolve(text);
        else end(`status ${response.statusCode} ${text.replaceAll(/\s+/g, " ").slice(0, SHOWN_MAX)}`);
      });
    });
    call.end();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #request(path: string): ReturnType<typeof httpRequest> {
    const { address, tokenFile, user } = this.#settings;
    const headers: Record<string, string> = { accept: "application/json", "user-agent": "headroom" };
    if (user !== undefined) headers["X-SLURM-USER-NAME"] = user;
    if (tokenFile !== undefined) headers["X-SLURM-USER-TOKEN"] = tokenIn(tokenFile);
    const options: RequestOptions = { method: "GET", headers };
    if (address.startsWith("unix:")) return httpRequest({ ...options, socketPath: address.slice(5), path });
    const url = new URL(path, address);
    return url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  }
}

/** The token itself, or the line that `scontrol token` prints. */
function tokenIn(file: string): string {
  try {
    return readFileSync(file, "utf8")
      .trim()
      .replace(/^SLURM_JWT=/, "");
  } catch (error) {
    throw unusable(`the token of slurmrestd cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
