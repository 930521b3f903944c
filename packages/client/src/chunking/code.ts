// Blocks of source code in any language: what blank lines separate at the left margin, or else blank lines, or else lines.
import { linesOf } from './lines.ts'
import { endTrimmedSpan, type Span } from './tokens.ts'

/** Definitions with their bodies: a block begins after a blank line, at a line that is not indented and closes nothing. */
export function topBlocksOf(text: string, start: number, end: number): Span[] {
  return blocksOf(text, { start, end, begins: (line) => /^[^ \t)\]}]/.test(line) })
}

/** What blank lines separate. */
export function paragraphsOf(text: string, start: number, end: number): Span[] {
  return blocksOf(text, { start, end, begins: () => true })
}

/** Lines that are not blank. */
export function codeLinesOf(text: string, start: number, end: number): Span[] {
  const spans: Span[] = []
  for (const line of linesOf(text, start, end)) {
    const span = line.blank ? undefined : endTrimmedSpan(text, line.start, line.end)
    if (span !== undefined) spans.push(span)
  }
  return spans
}

interface BlockRule {
  readonly start: number
  readonly end: number
  /** True if a block begins with this line when it follows a blank one. */
  readonly begins: (line: string) => boolean
}

function blocksOf(text: string, { start, end, begins }: BlockRule): Span[] {
  const spans: Span[] = []
  let from: number | undefined
  let afterBlank = false
  const add = (to: number) => {
    const span = from === undefined ? undefined : endTrimmedSpan(text, from, to)
    if (span !== undefined) spans.push(span)
  }
  for (const line of linesOf(text, start, end)) {
    if (!line.blank && (from === undefined || (afterBlank && begins(text.slice(line.start, line.end))))) {
      add(line.start)
      from = line.start
    }
    afterBlank = line.blank
  }
  add(end)
  return spans
}
