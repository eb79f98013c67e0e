import { merge } from "./merge";
import { socketAddress } from "./stream";

const firstWait = 500;
const longestWait = 20_000;

/** Follows a websocket of the class. After a loss it comes back by itself; the waits grow and are spread at random, so that
 * a class does not return in one moment. */
export class ClassSocket<T> {
  private socket: WebSocket | undefined;
  private value: unknown;
  private wait = firstWait;
  private timer = 0;

  constructor(private readonly path: string, private readonly merged: boolean, private readonly take: (value: T) => void, private readonly link: (up: boolean) => void) {
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
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.link(false);
      const wait = this.wait * (0.5 + Math.random());
      this.wait = Math.min(longestWait, this.wait * 2);
      this.timer = window.setTimeout(() => this.connect(), wait);
    };
  }
}
