// Sets of rows of a text field, as of one version: those that have terms of the index.
import { Bitmap } from '../memory/bitmap.ts'
import type { SparseField } from '../vector/field.ts'
import type { ClauseTerm } from './expand-terms.ts'

type Terms = readonly Pick<ClauseTerm, 'index'>[]

export class TextRows {
  readonly field: SparseField
  readonly version: number

  constructor(field: SparseField, version: number) {
    this.field = field
    this.version = version
  }

  all(): Bitmap {
    return new Bitmap().not(this.field.end)
  }

  withAny(terms: Terms): Bitmap {
    const words = new Uint32Array(new SharedArrayBuffer(Math.ceil(this.field.end / 32) * 4))
    for (const { index } of terms) this.field.markRows(index, this.version, words)
    return Bitmap.over(words, 0).recount()
  }

  withAll(terms: Terms): Bitmap {
    const [first, ...others] = terms.map((term) => this.withAny([term]))
    return others.reduce((all, rows) => all.and(rows), first ?? new Bitmap())
  }
}
