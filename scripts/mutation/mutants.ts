// Mutants of a TypeScript source: one small change each, found in its syntax tree. Types and strings stay.
import { createHash } from 'node:crypto'
import ts from 'typescript'

export interface Mutant {
  /** Position among all mutants of the source, from 0. */
  readonly index: number
  /** From 1. */
  readonly line: number
  /** What was changed, for a person. */
  readonly change: string
  readonly source: string
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

const swaps: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '+=': ['-='],
  '-=': ['+='],
}

/** All mutants of a source, in the order of their places. */
export function mutantsOf(path: string, source: string): readonly Mutant[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const edits: Edit[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    edits.push(...editsOf(node, source))
    ts.forEachChild(node, visit)
  }
  visit(file)
  const known = new Set<string>()
  return edits
    .sort((a, b) => a.from - b.from)
    .map(({ from, to, text }) => ({
      line: file.getLineAndCharacterOfPosition(from).line + 1,
      change: `${shorten(source.slice(from, to))} -> ${shorten(text)}`,
      source: source.slice(0, from) + text + source.slice(to),
    }))
    .filter((mutant) => {
      if (mutant.source === source || known.has(mutant.source)) return false
      known.add(mutant.source)
      return true
    })
    .map((mutant, index) => ({ index, ...mutant }))
}

/** The same for sources that differ in comments and layout only. */
export function hashOfCode(path: string, source: string): string {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest)
  const text = ts.createPrinter({ removeComments: true }).printFile(file)
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function editsOf(node: ts.Node, source: string): readonly Edit[] {
  const whole = (text: string): Edit => ({ from: node.getStart(), to: node.end, text })
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken
    if (isText(node.left) || isText(node.right)) return []
    const others = swaps[operator.getText()] ?? []
    return others.map((text) => ({ from: operator.getStart(), to: operator.end, text }))
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [whole(node.operand.getText())]
  if (ts.isPostfixUnaryExpression(node))
    return [whole(`${node.operand.getText()}${node.operator === ts.SyntaxKind.PlusPlusToken ? '--' : '++'}`)]
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) {
    const { expression } = node
    return [{ from: expression.getStart(), to: expression.end, text: `!(${expression.getText()})` }]
  }
  if (ts.isConditionalExpression(node))
    return [whole(`(${node.condition.getText()} ? ${node.whenFalse.getText()} : ${node.whenTrue.getText()})`)]
  if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(node.parent.parent ?? node.parent))
    return [whole(`(${node.getText()} + 1)`)]
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [whole('false')]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [whole('true')]
  if (ts.isAwaitExpression(node) && ts.isExpressionStatement(node.parent)) return [whole(node.expression.getText())]
  if (ts.isExpressionStatement(node) && isCall(node.expression)) return [whole(';')]
  if (ts.isReturnStatement(node) && node.expression !== undefined) return [whole('return undefined')]
  if (ts.isThrowStatement(node)) return [whole(';')]
  if (ts.isCallExpression(node) && node.arguments.length >= 2) {
    const [first, second] = [node.arguments[0] as ts.Expression, node.arguments[1] as ts.Expression]
    if (isText(first) || isText(second) || ts.isFunctionLike(first) || ts.isFunctionLike(second)) return []
    const swapped = `${second.getText()}${source.slice(first.end, second.getStart())}${first.getText()}`
    return [{ from: first.getStart(), to: second.end, text: swapped }]
  }
  return []
}

function isCall(expression: ts.Expression): boolean {
  const inner = ts.isAwaitExpression(expression) ? expression.expression : expression
  return ts.isCallExpression(inner) && inner.expression.kind !== ts.SyntaxKind.SuperKeyword
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 57)}...` : line
}
