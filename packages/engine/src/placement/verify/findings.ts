/** Collects violations: a check continues after its first finding, because the second often explains the first. */
export class Findings {
  readonly list: string[] = [];

  expect(holds: boolean, message: () => string): void {
    if (!holds) this.list.push(message());
  }
}
