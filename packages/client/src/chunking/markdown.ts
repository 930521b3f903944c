// Sections of a Markdown text, with the headings above them. A section begins at a heading and ends before the next one. Headings in
// fenced code and in the front matter are none.
import { type Line, linesOf } from './lines.ts'
import { endTrimmedSpan, type Span } from './tokens.ts'

export interface Block {
  readonly span: Span
  /** Fenced code. */
  readonly code: boolean
}

export interface Section {
  /** The headings that lead to this section, and its own. */
  readonly headings: readonly string[]
  readonly blocks: readonly Block[]
}

interface Heading {
  readonly level: number
  readonly title: string
}

export function sectionsOf(text: string): Section[] {
  const lines = linesOf(text, 0, text.length)
  const sections: { headings: readonly string[]; blocks: Block[] }[] = [{ headings: [], blocks: [] }]
  let path: readonly Heading[] = []
  const add = (first: Line, last: Line, code = false) => {
    const span = endTrimmedSpan(text, first.start, last.end)
    if (span !== undefined) sections.at(-1)?.blocks.push({ span, code })
  }
  const begin = (heading: Heading) => {
    path = [...path.filter(({ level }) => level < heading.level), heading]
    sections.push({ headings: path.map(({ title }) => title).filter((title) => title !== ''), blocks: [] })
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as Line
    const content = contentOf(text, line)
    const last = at === 0 ? frontMatterEnd(text, lines) : undefined
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(content)?.[1]
    const heading = headingOf(content)
    if (last !== undefined) {
      add(line, lines[last] as Line)
      at = last + 1
    } else if (line.blank) at++
    else if (fence !== undefined) {
      const end = fenceEnd(text, lines, at, fence)
      add(line, lines[end] as Line, true)
      at = end + 1
    } else if (heading !== undefined) {
      begin(heading)
      add(line, line)
      at++
    } else {
      const level = isTitle(content) ? underlineLevel(text, lines[at + 1]) : undefined
      const end = level === undefined ? paragraphEnd(text, lines, at) : at + 1
      if (level !== undefined) begin({ level, title: trimSpaces(content) })
      add(line, lines[end] as Line)
      at = end + 1
    }
  }
  return sections.filter(({ blocks }) => blocks.length > 0)
}

function contentOf(text: string, line: Line): string {
  return text.slice(line.start, line.end).replace(/\r$/, '')
}

function trimSpaces(content: string): string {
  const isSpace = (at: number) => content[at] === ' ' || content[at] === '\t'
  let start = 0
  let end = content.length
  while (start < end && isSpace(start)) start++
  while (end > start && isSpace(end - 1)) end--
  return content.slice(start, end)
}

/** `## Title ##` */
function headingOf(content: string): Heading | undefined {
  const found = /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(content)
  if (found === null) return undefined
  const rest = trimSpaces(content.slice(found[0].length))
  const title = /^#+$/.test(rest) ? '' : trimSpaces(rest.replace(/[ \t]#+$/, ''))
  return { level: (found[1] as string).length, title }
}

/** A line of = or - under a title. */
function underlineLevel(text: string, line: Line | undefined): number | undefined {
  const found = line === undefined ? null : /^ {0,3}(={2,}|-{2,})[ \t]*$/.exec(contentOf(text, line))
  return found === null ? undefined : found[1]?.startsWith('=') ? 1 : 2
}

/** A line that may be a title: no item of a list, quotation, table, or indented code. */
function isTitle(content: string): boolean {
  return !/^(?: {4}|\t| {0,3}(?:[-*+>|]|[0-9]{1,9}[.)]))/.test(content)
}

function paragraphEnd(text: string, lines: readonly Line[], first: number): number {
  let last = first
  for (let at = first + 1; at < lines.length; at++) {
    const line = lines[at] as Line
    const content = contentOf(text, line)
    if (line.blank || headingOf(content) !== undefined || /^ {0,3}(`{3,}|~{3,})/.test(content)) break
    last = at
  }
  return last
}

/** The line that closes a fence, or the last one. */
function fenceEnd(text: string, lines: readonly Line[], first: number, fence: string): number {
  for (let at = first + 1; at < lines.length; at++) {
    const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(contentOf(text, lines[at] as Line))?.[1]
    if (closing?.startsWith(fence)) return at
  }
  return lines.length - 1
}

/** The last line of the front matter, or undefined if there is none. */
function frontMatterEnd(text: string, lines: readonly Line[]): number | undefined {
  if (!/^---[ \t]*$/.test(contentOf(text, lines[0] as Line))) return undefined
  const end = lines.findIndex((line, at) => at > 0 && /^---[ \t]*$/.test(contentOf(text, line)))
  return end < 0 ? undefined : end
}
