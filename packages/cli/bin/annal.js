#!/usr/bin/env node
// The command `annal` as npm links it. An installed package runs the built code. In a checkout, where npm links the command before
// anything is built, it first builds what is missing, and uses the repository's Node.js if the installed one is too old. Plain
// JavaScript for Node.js 20, because it must be able to report the required version.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = new URL('../dist/annal.js', import.meta.url)
// A checkout has sources; a package does not.
const isCheckout = existsSync(new URL('../src/annal.ts', import.meta.url))
const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12)

if (isCheckout && !(isNew && existsSync(program))) await runInCheckout()
else if (isNew) await import(program.href)
else refuseOldNode()

async function runInCheckout() {
  const { ensureInstalled, node, run, runMain, turbo } = await import('../../../scripts/setup.mjs')
  runMain(async (args) => {
    await ensureInstalled()
    if (!existsSync(program)) await turbo('build')
    return run(node, [fileURLToPath(program), ...args])
  })
}

function refuseOldNode() {
  console.error(`annal: Annal needs Node.js 22.12.0 or newer, and this process runs on ${process.versions.node}`)
  process.exitCode = 78
}
