#!/usr/bin/env node
// The command `annal` as npm links it. In an installed package it runs what was built. In a checkout, where npm links it before
// anything is built, it builds what is missing first, and uses the Node.js of the repository when the machine's own is too old.
// Plain JavaScript for Node.js 20, because it must be able to say which version is needed.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = new URL('../dist/annal.js', import.meta.url)
// Sources are in a checkout and in no package.
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
  console.error(`annal needs Node.js 22.12 or newer; this is ${process.versions.node}`)
  process.exitCode = 64
}
