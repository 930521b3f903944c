// Filter texts that were replaced while searches of earlier versions run. These searches still see them.
import type { Pins } from './pins.ts'

interface Replaced {
  /** Searches of lower versions see the texts. */
  readonly version: number
  readonly texts: ReadonlyMap<number, string>
}

/** The replaced filter texts of one collection. */
export class EarlierFilters {
  /** Ordered by version. */
  readonly #replaced = new Set<Replaced>()

  /**
   * Keeps the texts that ordinals had before `version`; texts may be added while the version is published. The returned function must be
   * called when no new search can read an earlier version. It drops the texts once no search reads one.
   */
  keep(replaced: Replaced): (pins: Pins) => void {
    this.#replaced.add(replaced)
    return (pins) => void pins.until(replaced.version).then(() => this.#replaced.delete(replaced))
  }

  /** The text of an ordinal as of a version; undefined if it was not replaced since. */
  textAt(ordinal: number, version: number): string | undefined {
    for (const replaced of this.#replaced) {
      const text = version < replaced.version ? replaced.texts.get(ordinal) : undefined
      if (text !== undefined) return text
    }
    return undefined
  }
}
