/** Asks again and again for what a panel shows beside the stream: not while nobody looks, and never twice at once. */
export class Poll<T> {
  private timer = 0;
  private session = "";

  constructor(private readonly every: number, private readonly ask: (session: string) => Promise<T>, private readonly take: (value: T) => void) {}

  follow(session: string): void {
    this.leave();
    this.session = session;
    void this.look();
  }

  leave(): void {
    this.session = "";
    clearTimeout(this.timer);
  }

  /** Asks at once, out of turn. */
  hurry(): void {
    if (this.session) this.follow(this.session);
  }

  private async look(): Promise<void> {
    const session = this.session;
    if (!document.hidden) {
      try {
        const value = await this.ask(session);
        if (session === this.session) this.take(value);
      } catch {
        // the stream tells of a session or a server that is gone
      }
    }
    if (session === this.session && session) this.timer = window.setTimeout(() => void this.look(), this.every);
  }
}
