// Tables of FlatBuffers, in which Arrow writes its metadata. A buffer is checked as a whole before anything is read: every table, text, and
// list lies inside it. Readers that trust the lengths in a damaged buffer loop for hours.
//
//   root: offset u32 of a table
//   table: distance i32 back to its layout | values
//   layout: own bytes u16 | bytes of the table u16 | offset u16 of each value in the table, 0 for one that is absent
//   value: a number, or the distance u32 to a text, a list, or a table; a list and a text begin with their length u32

/** What a slot of a table has: a number of so many bytes, or something elsewhere. */
export type Slot =
  | number
  | { readonly kind: 'text' }
  /** Numbers or fixed groups of numbers, of so many bytes each. */
  | { readonly kind: 'list'; readonly bytes: number }
  | { readonly kind: 'table'; readonly of: () => Layout }
  | { readonly kind: 'tables'; readonly of: () => Layout }
  /** The slot before it says which layout. */
  | { readonly kind: 'choice'; readonly layouts: Readonly<Record<number, Layout>> }

export type Layout = readonly Slot[]

/** Nested lists and groups of a schema; every real one has less. */
const depthMax = 64

/** Throws an Error if anything lies outside the buffer, or if the tables take more than the buffer has. */
export function checkedTable(bytes: Uint8Array, layout: Layout): FlatTable {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // A table takes at least 4 bytes. More are tables that contain themselves, or each other many times.
  const left = { tables: bytes.length / 4 }
  const root = new FlatTable(view, u32(view, 0))
  check(root, layout, left, 0)
  return root
}

function check(table: FlatTable, layout: Layout, left: { tables: number }, depth: number): void {
  left.tables -= 1
  if (left.tables < 0) throw new Error('its metadata contains itself')
  if (depth > depthMax) throw new Error(`its metadata is nested deeper than ${depthMax}`)
  for (const [slot, what] of layout.entries()) {
    const place = table.place(slot)
    if (place === undefined) continue
    if (typeof what === 'number') table.inside(place, what)
    else if (what.kind === 'text') table.list(slot, 1)
    else if (what.kind === 'list') table.list(slot, what.bytes)
    else if (what.kind === 'table') check(table.table(slot) as FlatTable, what.of(), left, depth + 1)
    else if (what.kind === 'tables') {
      for (const one of table.tables(slot)) check(one, what.of(), left, depth + 1)
    } else {
      const chosen = what.layouts[table.number(slot - 1, 1)]
      if (chosen !== undefined) check(table.table(slot) as FlatTable, chosen, left, depth + 1)
    }
  }
}

function u32(view: DataView, place: number): number {
  if (place + 4 > view.byteLength) throw new Error('its metadata ends too early')
  return view.getUint32(place, true)
}

export class FlatTable {
  readonly #view: DataView
  readonly #place: number
  readonly #layout: number
  readonly #layoutBytes: number

  constructor(view: DataView, place: number) {
    this.#view = view
    this.#place = place
    this.inside(place, 4)
    this.#layout = place - view.getInt32(place, true)
    this.inside(this.#layout, 4)
    this.#layoutBytes = view.getUint16(this.#layout, true)
    this.inside(this.#layout, this.#layoutBytes)
  }

  /** Its place in the buffer. */
  get start(): number {
    return this.#place
  }

  inside(place: number, bytes: number): void {
    if (place >= 0 && place + bytes <= this.#view.byteLength) return
    throw new Error('its metadata points outside itself')
  }

  /** Where the value of a slot is; undefined if it is absent. */
  place(slot: number): number | undefined {
    const at = 4 + slot * 2
    const offset = at + 2 > this.#layoutBytes ? 0 : this.#view.getUint16(this.#layout + at, true)
    if (offset === 0) return undefined
    this.inside(this.#place + offset, 1)
    return this.#place + offset
  }

  /** A whole number; 0 if it is absent. */
  number(slot: number, bytes: 1 | 2 | 4 | 8): number {
    const place = this.place(slot)
    if (place === undefined) return 0
    this.inside(place, bytes)
    if (bytes === 1) return this.#view.getUint8(place)
    if (bytes === 2) return this.#view.getInt16(place, true)
    return bytes === 4 ? this.#view.getInt32(place, true) : Number(this.#view.getBigInt64(place, true))
  }

  table(slot: number): FlatTable | undefined {
    const place = this.place(slot)
    return place === undefined ? undefined : new FlatTable(this.#view, place + u32(this.#view, place))
  }

  /** The elements of a list of groups of 64-bit numbers. */
  numbers(slot: number, perGroup: number): readonly (readonly number[])[] {
    const { start, length } = this.list(slot, perGroup * 8)
    return Array.from({ length }, (_, group) =>
      Array.from({ length: perGroup }, (_, i) =>
        Number(this.#view.getBigInt64(start + (group * perGroup + i) * 8, true)),
      ),
    )
  }

  *tables(slot: number): Generator<FlatTable> {
    const { start, length } = this.list(slot, 4)
    for (let place = start; place < start + length * 4; place += 4) {
      yield new FlatTable(this.#view, place + this.#view.getUint32(place, true))
    }
  }

  list(slot: number, bytes: number): { readonly start: number; readonly length: number } {
    const place = this.place(slot)
    if (place === undefined) return { start: 0, length: 0 }
    const list = place + u32(this.#view, place)
    const length = u32(this.#view, list)
    this.inside(list + 4, length * bytes)
    return { start: list + 4, length }
  }
}
