// What people read in a file: its comments, its strings and the text between its tags. Everything else becomes spaces, so that lines keep
// their numbers. A string that is one lower-case word is a key or a value of a protocol, not prose.
import ts from 'typescript'

export function proseOf(file: string, text: string): string {
  if (/\.(ts|tsx|mts|js|mjs|cjs)$/.test(file)) return scriptProse(file, text)
  if (/\.(md|html)$/.test(file)) return text.replace(/`[^`\n]*`/g, blank)
  if (file.endsWith('.json'))
    return text.replace(/"(?:[^"\\]|\\.)*"(\s*:)?/g, (string) => (/\s/.test(string) ? string : blank(string)))
  // Python, shell, Dockerfiles, CSS, C: comments and quoted strings.
  const found = text.matchAll(
    /"""[\s\S]*?"""|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g,
  )
  return keepOnly(
    text,
    [...found].map((match) => [match.index, match.index + match[0].length]),
  )
}

function scriptProse(file: string, text: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const ranges: [number, number][] = []
  const visit = (node: ts.Node): void => {
    for (const comment of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [])
      ranges.push([comment.pos, comment.end])
    for (const comment of ts.getTrailingCommentRanges(text, node.getEnd()) ?? [])
      ranges.push([comment.pos, comment.end])
    if (isRead(node)) ranges.push([node.getStart(), node.getEnd()])
    // With the tokens that are no nodes of their own, before which comments stand too.
    for (const child of node.getChildren()) visit(child)
  }
  visit(source)
  return keepOnly(text, ranges)
}

function isRead(node: ts.Node): boolean {
  if (ts.isJsxText(node)) return true
  if (ts.isStringLiteralLike(node)) return !/^[a-z0-9_.:/@-]*$/.test(node.text)
  return (
    node.kind === ts.SyntaxKind.TemplateHead ||
    node.kind === ts.SyntaxKind.TemplateMiddle ||
    node.kind === ts.SyntaxKind.TemplateTail
  )
}

function keepOnly(text: string, ranges: readonly (readonly [number, number])[]): string {
  const kept = new Uint8Array(text.length)
  for (const [start, end] of ranges) kept.fill(1, start, end)
  let result = ''
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string
    result += kept[index] === 1 || character === '\n' ? character : ' '
  }
  return result
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}
