// Tables on terminals of any width.
import { test } from 'tap'
import { aligned } from '../src/table.ts'
import { widthOf } from '../src/visible-text.ts'

const rows = [
  ['collection', 'objects', 'fields', 'created'],
  ['films-of-the-world', '1,203', 'plot 384 cosine int8, title text english', '2026-11-27 09:05Z'],
  ['\u65e5\u672c', '4', 'v 3 l2 int8', '2026-11-27 09:06Z'],
]

test('a table fits its terminal: the widest texts are shortened, the last columns left out, and numbers never cut', (t) => {
  const whole = aligned(rows, { numbers: [1] })
  t.strictSame(aligned(rows, { numbers: [1], width: 200 }), whole)
  for (let width = 4; width < 120; width += 1) {
    const lines = aligned(rows, { numbers: [1], width })
    t.ok(
      lines.every((line) => widthOf(line) <= width),
      `${width} cells`,
    )
  }
  t.match(
    aligned(rows, { numbers: [1], width: 80 })[1],
    /^films-of-the-world {4}1,203 {2}plot .*\.\.\. {2}2026-11-27 09:05Z$/,
  )
  t.match(aligned(rows, { numbers: [1], width: 48 })[1], /^films-of-the-world {4}1,203 {2}plo/)
  t.match(aligned(rows, { numbers: [1], width: 40 })[1], /^films-of-the-world {4}1,203 {2}plo/)
  t.match(aligned(rows, { numbers: [1], width: 30 })[1], /^films-of-the-world {4}1,203$/)
  t.match(aligned(rows, { numbers: [1], width: 24 })[1], /^films-of-the\.\.\. {4}1,203$/)
  t.end()
})

test('a column that says nothing when it is shortened is whole or left out', (t) => {
  const at = (width: number) => aligned(rows, { numbers: [1], whole: [3], width })[1]
  t.match(at(60), /^films-of-the-world {4}1,203 {2}plot \d.*\.\.\. {2}2026-11-27 09:05Z$/)
  t.match(at(52), /^films-of-the-world {4}1,203 {2}plot .*\.\.\.$/)
  t.match(at(20), /^films-of\.\.\. {4}1,203$/)
  for (let width = 18; width < 120; width += 1) {
    t.match(at(width), / 1,203( |$)/, `${width} cells: a number`)
    t.notMatch(at(width), /2026-(?!11-27 09:05Z$)/, `${width} cells: a time`)
  }
  t.end()
})
