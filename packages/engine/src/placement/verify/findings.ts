/** Collects violations. A check continues after the first violation, because a later one often explains it. */
export class Findings {
  readonly list: string[] = [];

  expect(holds: boolean, message: () => string): void {
    if (!holds) this.list.push(message());
  }
}
