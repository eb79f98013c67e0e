import { merge } from "./merge";
import { socketAddress } from "./stream";

const firstWait = 500;
const longestWait = 20_000;
const notYours = 1008; // the websocket's "policy violation"

/** Follows a websocket of the class. After a loss it comes back by itself; the waits grow and are spread at random, so that
 * a class does not return in one moment. */
export class ClassSocket<T> {
  private socket: WebSocket | undefined;
  private value: unknown;
  private wait = firstWait;
  private timer = 0;

  constructor(private readonly path: string, private readonly merged: boolean, private readonly take: (value: T) => void, private readonly link: (up: boolean) => void, private readonly refused: () => Promise<boolean> = async () => false) {
    this.connect();
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => this.hurry());
    // A page kept for Back must not hold a connection, or it would not be kept.
    addEventListener("pagehide", () => this.socket?.close());
  }

  private hurry(): void {
    if (!this.timer || document.hidden) return;
    clearTimeout(this.timer);
    this.connect();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.socket = undefined;
  }

  private connect(): void {
    this.timer = 0;
    const socket = new WebSocket(socketAddress(this.path));
    this.socket = socket;
    let first = true;
    socket.onmessage = (e: MessageEvent<string>) => {
      const message = JSON.parse(e.data) as unknown;
      this.value = first || !this.merged ? message : merge(this.value, message);
      if (first) {
        first = false;
        this.wait = firstWait;
        this.link(true);
      }
      this.take(this.value as T);
    };
    socket.onclose = (e) => {
      if (socket !== this.socket) return;
      this.link(false);
      // Ended by the server for good, or not let in: a caller that is nobody any more need not come again.
      if (first || e.code === notYours) void this.refused().then((gone) => gone && this.stop());
      const wait = this.wait * (0.5 + Math.random());
      this.wait = Math.min(longestWait, this.wait * 2);
      this.timer = window.setTimeout(() => this.connect(), wait);
    };
  }
}
