// Lines of a text by their offsets, without the line break.

export interface Line {
  readonly start: number
  readonly end: number
  /** Nothing but spaces. */
  readonly blank: boolean
}

export function linesOf(text: string, start: number, end: number): Line[] {
  const lines: Line[] = []
  for (let at = start; at < end; ) {
    const next = text.indexOf('\n', at)
    const lineEnd = next < 0 || next > end ? end : next
    lines.push({ start: at, end: lineEnd, blank: /^[ \t\r\f\v]*$/.test(text.slice(at, lineEnd)) })
    at = lineEnd + 1
  }
  return lines
}
