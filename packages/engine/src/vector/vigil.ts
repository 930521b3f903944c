// Notices workers that are at work and do not get on: that loop for ever or wait for what never comes. Looks at each now and then;
// one that shows the same picture too many times in a row is stuck. Counted in looks rather than in time, so that a process
// that was stopped or starved as a whole, and with it its workers, is not taken for stuck.

/** What a worker is at, and how far: any change of either is progress. */
export interface Picture {
  readonly turn: number
  readonly pulse: number
  /** Looks that may show the same. */
  readonly patience: number
}

const everyMs = 200
/** For the kernel of dense fields, which shows its pulse: a second, with the time between two looks. */
export const patienceWithPulse = 4
/** For work without a pulse: far beyond the longest sparse query measured. */
export const patienceWithoutPulse = 25

export class Vigil {
  readonly #timer: NodeJS.Timeout
  readonly #seen: { turn: number; pulse: number; same: number }[]

  /** `pictureOf` is undefined for a worker with nothing to do; `stuck` is called once for each that is stuck. */
  constructor(
    workers: number,
    pictureOf: (worker: number) => Picture | undefined,
    stuck: (worker: number, afterMs: number) => void,
  ) {
    this.#seen = Array.from({ length: workers }, () => ({ turn: 0, pulse: 0, same: 0 }))
    this.#timer = setInterval(() => {
      this.#seen.forEach((seen, worker) => {
        const picture = pictureOf(worker)
        const isSame = picture !== undefined && picture.turn === seen.turn && picture.pulse === seen.pulse
        this.#seen[worker] = { turn: picture?.turn ?? 0, pulse: picture?.pulse ?? 0, same: isSame ? seen.same + 1 : 0 }
        if (picture !== undefined && isSame && seen.same + 1 === picture.patience)
          stuck(worker, picture.patience * everyMs)
      })
    }, everyMs).unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }
}
