import { merge } from "./merge";
import type { Picture } from "./types";

/** How the connection stands: up, lost until a moment (ms since the epoch), or over for good. It is lost elsewhere when this
 * server is there and the one that runs the job is not. */
export type Link = { is: "up" } | { is: "lost"; retryAt: number; elsewhere: boolean } | { is: "over" };

const firstWait = 500;
const longestWait = 15_000;
/** No word for this long, though pings come each 20 s, means that the line is dead. */
const deadAfter = 30_000;

export function socketAddress(path: string): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
}

/** Follows a session. It comes back by itself after a lost connection, with waits that grow and are spread at random. */
export class Stream {
  private socket: WebSocket | undefined;
  private picture: Picture | undefined;
  private wait = firstWait;
  private timer = 0;
  private watchdog = 0;
  private closed = false;

  constructor(
    private readonly session: string,
    private readonly onPicture: (p: Picture) => void,
    private readonly onLink: (l: Link) => void,
  ) {
    this.connect();
    addEventListener("online", this.hurry);
  }

  /** Leaves the session; it runs on. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    removeEventListener("online", this.hurry);
    this.socket?.close(1000);
  }

  private hurry = (): void => {
    if (this.timer) {
      clearTimeout(this.timer);
      this.connect();
    }
  };

  private connect(): void {
    this.timer = 0;
    const socket = new WebSocket(socketAddress(`/api/v1/sessions/${this.session}/stream?hz=10`));
    this.socket = socket;
    let first = true;
    socket.onmessage = (e: MessageEvent<string>) => {
      this.alive();
      const message = JSON.parse(e.data) as Picture;
      this.picture = first ? message : (merge(this.picture, message) as Picture);
      if (first) {
        first = false;
        this.wait = firstWait;
        this.onLink({ is: "up" });
      }
      this.onPicture(this.picture);
    };
    socket.onclose = (e) => {
      if (this.closed || socket !== this.socket) return;
      clearTimeout(this.watchdog);
      if (e.code === 1000) this.over();
      else void this.lost();
    };
    this.alive();
  }

  private alive(): void {
    clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => void this.checkDead(), deadAfter);
  }

  /** A job that stands still sends nothing, so silence alone is no proof. */
  private async checkDead(): Promise<void> {
    if (this.closed) return;
    try {
      const r = await fetch("/healthz", { signal: AbortSignal.timeout(5000) });
      if (r.ok && this.socket?.readyState === WebSocket.OPEN) {
        this.alive();
        return;
      }
    } catch {
      // falls through: the server does not answer
    }
    this.socket?.close();
  }

  private over(): void {
    this.closed = true;
    this.onLink({ is: "over" });
  }

  /** Tells a server that is away from a session that is no more. */
  private async lost(): Promise<void> {
    const wait = this.wait * (0.5 + Math.random());
    this.wait = Math.min(longestWait, this.wait * 2);
    const retryAt = Date.now() + wait;
    this.onLink({ is: "lost", retryAt, elsewhere: false });
    try {
      const r = await fetch(`/api/v1/sessions/${this.session}/evidence`, { signal: AbortSignal.timeout(3000) });
      if (r.status === 404) {
        if (!this.closed) this.over();
        return;
      }
      if (r.status === 503 && ((await r.json()) as { field?: string }).field === "server" && !this.closed) this.onLink({ is: "lost", retryAt, elsewhere: true });
    } catch {
      // the server is away: try again later
    }
    if (!this.closed) this.timer = window.setTimeout(() => this.connect(), wait);
  }
}
