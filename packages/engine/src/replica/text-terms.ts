// The terms of the text fields of one collection: each has a number, by which the inverted lists of its field know it. A number is given
// when the first object with the term is applied, and becomes free when the last one is out of the lists, so numbers follow from the log.
import { yieldToOthers } from '@annal/wal'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { DumpOptions, Section, SectionReader } from '../memory/sections.ts'
import { type SharedTerms, type TermNamesList, TermTable } from '../memory/term-table.ts'
import type { TextColumn } from '../model/event.ts'
import type { CollectionSchema } from '../model/schema.ts'
import { loadAnalyzers } from '../text/analyzers.ts'
import { type CountedText, countedTexts } from '../text/counted-text.ts'
import type { AnalyzerParams } from '../text/params.ts'
import type { SparseRows } from '../vector/field.ts'
import { packCount } from '../vector/sparse/packed-counts.ts'
import type { SparseTermsOfField } from './object-record.ts'
import { type NumberedTerm, TermOrder } from './term-order.ts'

/** Terms numbered, or freed, in one turn of the event loop. */
const turnTerms = 8_192

/** What the texts of an upsert become in one field. */
export interface TextRows {
  readonly rows: SparseRows
  /** What the record of each object keeps, by its position in the event. */
  readonly terms: ReadonlyMap<number, SparseTermsOfField>
}

export class TextTerms {
  /** Undefined in a collection without text fields. */
  readonly #table: TermTable | undefined
  readonly #orders = new Map<number, TermOrder>()

  private constructor(table: TermTable | undefined) {
    this.#table = table
  }

  static async empty(seed: HashSeed, definition: Pick<CollectionSchema, 'fields'>): Promise<TextTerms> {
    if (!hasTexts(definition)) return new TextTerms(undefined)
    await loadAnalyzers()
    return new TextTerms(new TermTable(seed))
  }

  /** Numbers the terms of texts. `ordinals` are those of the event's objects. */
  async rowsOf(column: TextColumn, params: AnalyzerParams, ordinals: Uint32Array): Promise<TextRows> {
    const { field, objects, texts } = column
    const terms = new Map<number, SparseTermsOfField>()
    let row = 0
    let turn = 0
    for (const counted of countedTexts(texts, params)) {
      terms.set(objects[row] as number, { ...this.#numbered(field, counted), text: texts[row] as string })
      row++
      turn += counted.terms.length
      if (turn < turnTerms) continue
      turn = 0
      await yieldToOthers()
    }
    const kept = [...terms.values()]
    const indices = new Uint32Array(kept.reduce((sum, one) => sum + one.indices.length, 0))
    const values = new Float32Array(indices.length)
    let offset = 0
    for (const one of kept) {
      indices.set(one.indices, offset)
      values.set(one.values, offset)
      offset += one.indices.length
    }
    return {
      terms,
      rows: {
        ordinals: Uint32Array.from(objects, (object) => ordinals[object] as number),
        counts: Uint32Array.from(kept, (one) => one.indices.length),
        indices,
        values,
      },
    }
  }

  #numbered(field: number, { terms, counts, length }: CountedText): Omit<SparseTermsOfField, 'text'> {
    const table = this.#table as TermTable
    const numbers = new Uint32Array(terms.length)
    for (const [i, term] of terms.entries()) {
      const number = table.intern(field, term)
      if (table.countOf(number) === 0) this.#orders.get(field)?.added(number, term)
      table.use(number)
      numbers[i] = number
    }
    const order = [...numbers.keys()].sort((a, b) => (numbers[a] as number) - (numbers[b] as number))
    return {
      field,
      indices: Uint32Array.from(order, (i) => numbers[i] as number),
      values: Float32Array.from(order, (i) => packCount(counts[i] as number, length)),
    }
  }

  /** The rows with these terms are out of the lists. */
  async drop(numbers: Uint32Array): Promise<void> {
    for (const [i, number] of numbers.entries()) {
      this.#table?.dropNumber(number)
      if (i % turnTerms === turnTerms - 1) await yieldToOthers()
    }
  }

  /** The number of a term; -1 if no object has it. */
  find(field: number, term: string): number {
    return this.#table?.find(field, term) ?? -1
  }

  *#ofField(field: number): Generator<NumberedTerm> {
    const table = this.#table
    if (table === undefined) return
    for (let number = 0; number < table.end; number++)
      if (table.countOf(number) > 0 && table.keyAt(number) === field) yield [number, table.textAt(number)]
  }

  /** Whether a number stands for this term of the field. */
  isTerm(field: number, number: number, term: string): boolean {
    return this.find(field, term) === number
  }

  /** Number of objects with a term, those included that are deleted but not out of the lists yet. */
  objectsWith(number: number): number {
    return this.#table?.countOf(number) ?? 0
  }

  /** The terms of a field in the order of their characters. */
  orderOf(field: number): TermOrder {
    const order = this.#orders.get(field) ?? new TermOrder(() => this.#ofField(field))
    this.#orders.set(field, order)
    return order
  }

  /** What other threads need to find terms, besides the chunks. */
  get shared(): SharedTerms | undefined {
    return this.#table?.shared
  }

  get chunks(): { readonly [list in TermNamesList]: readonly SharedBytes[] } {
    return this.#table?.chunks ?? { nameAddresses: [], names: [], namePages: [] }
  }

  /** Reserves memory for `terms` more of `bytes` in total. Throws EngineError memory_exhausted. */
  reserve(terms: number, bytes: number): void {
    if (terms > 0) this.#table?.reserve(terms, bytes)
  }

  bytes(): number {
    return this.#table?.bytes() ?? 0
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return this.#table?.dump(name, options) ?? []
  }

  static async load(reader: SectionReader, name: string, { definition }: CollectionEntry): Promise<TextTerms> {
    if (!hasTexts(definition)) return new TextTerms(undefined)
    await loadAnalyzers()
    return new TextTerms(await TermTable.load(reader, name))
  }
}

function hasTexts({ fields }: Pick<CollectionSchema, 'fields'>): boolean {
  return fields.some(({ kind }) => kind === 'text')
}
