// Rows of CSV or TSV, as in RFC 4180. Quoted cells may have delimiters, quotes, and lines.

const delimiters = [',', '\t', ';'] as const
export type Delimiter = (typeof delimiters)[number]

/** Throws a readable error that names the line. */
export function csvRows(text: string, delimiter: Delimiter, rowsMax = Number.POSITIVE_INFINITY): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  while (at < text.length && rows.length < rowsMax) {
    const cell = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at, delimiter)
    row.push(cell.value)
    at = cell.end
    if (text[at] === delimiter) {
      at += 1
      // A delimiter at the end is followed by an empty cell.
      if (at < text.length) continue
      row.push('')
    }
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    else if (at < text.length) throw new Error(`line ${lineOf(text, at)}: a quoted cell must end before the delimiter`)
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

interface Cell {
  readonly value: string
  readonly end: number
}

function plainCell(text: string, start: number, delimiter: Delimiter): Cell {
  let end = start
  while (end < text.length && text[end] !== delimiter && text[end] !== '\n') end += 1
  if (text[end] !== delimiter && text[end - 1] === '\r' && end > start) end -= 1
  return { value: text.slice(start, end), end }
}

function quotedCell(text: string, start: number): Cell {
  let value = ''
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) throw new Error(`line ${lineOf(text, start)}: a quoted cell has no end`)
    value += text.slice(from, quote)
    if (text[quote + 1] !== '"') return { value, end: quote + 1 }
    value += '"'
    from = quote + 2
  }
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

const rowsCompared = 20

/** The delimiter with which the first rows have the same number of cells, more than one; undefined if it is not a table. */
export function delimiterOf(text: string): Delimiter | undefined {
  const found = delimiters.map((delimiter) => ({ delimiter, cells: cellsOf(text, delimiter) }))
  const [best] = found.filter(({ cells }) => cells > 1).sort((a, b) => b.cells - a.cells)
  return best?.delimiter
}

function cellsOf(text: string, delimiter: Delimiter): number {
  try {
    const rows = csvRows(text, delimiter, rowsCompared)
    const [first] = rows
    const isTable = first !== undefined && rows.length > 1 && rows.every((row) => row.length === first.length)
    return isTable ? first.length : 0
  } catch {
    return 0
  }
}
