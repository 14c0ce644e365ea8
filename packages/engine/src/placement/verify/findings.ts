/** Collects violations. A check continues after the first one, because a later one often explains it. */
export class Findings {
  readonly list: string[] = [];

  expect(holds: boolean, message: () => string): void {
    if (!holds) this.list.push(message());
  }
}
