// Filter texts that were replaced while searches of earlier versions are under way: to those the objects still have them.
import type { Pins } from './pins.ts'

interface Replaced {
  /** Searches of lower versions see the texts. */
  readonly version: number
  readonly texts: ReadonlyMap<number, string>
}

export class EarlierFilters {
  /** In the order of versions. */
  readonly #replaced = new Set<Replaced>()

  /**
   * Keeps the texts that ordinals had before `version`; more may come while the version is published. What is returned is to be
   * called when no search can begin below it any more: it lets go of them once nobody looks at an earlier version.
   */
  keep(replaced: Replaced): (pins: Pins) => void {
    this.#replaced.add(replaced)
    return (pins) => void pins.until(replaced.version).then(() => this.#replaced.delete(replaced))
  }

  /** The text an ordinal had as of a version; undefined where it was not replaced since. */
  textAt(ordinal: number, version: number): string | undefined {
    for (const replaced of this.#replaced) {
      const text = version < replaced.version ? replaced.texts.get(ordinal) : undefined
      if (text !== undefined) return text
    }
    return undefined
  }
}
