import { maybe } from "./dom";
import { preferences } from "./preferences";

preferences();

// The page of a store that is away: what was asked for is shown as soon as the server can. The waits are spread at random, so that a class does not
// come back in one moment.
const shortest = 1500;

async function look(): Promise<void> {
  try {
    if ((await fetch("/readyz", { cache: "no-store" })).ok) {
      location.reload();
      return;
    }
  } catch {
    // no answer at all: as above
  }
  again();
}

function again(): void {
  setTimeout(() => void look(), shortest * (1 + Math.random()));
}

if (maybe("#l-again")) again();
