import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

// What the page is made of. A test in Go reads the same, so that a build that was forgotten is noticed without Node.js.
const made = ['index.html', 'package-lock.json', 'package.json', 'public', 'src', 'tsconfig.json', 'vite.config.ts']

// sources writes what was built from what: a hash over all names and contents, in the order of names.
function sources(): Plugin {
  return {
    name: 'weft-sources',
    apply: 'build',
    closeBundle() {
      const files = made.flatMap((name) =>
        name.includes('.') ? [name] : readdirSync(name, { recursive: true, withFileTypes: true })
          .filter((e) => e.isFile()).map((e) => `${e.parentPath}/${e.name}`))
      const hash = createHash('sha256')
      for (const name of files.sort()) hash.update(`${name}\n`).update(readFileSync(name)).update('\n')
      writeFileSync('../dist/.sources', `${hash.digest('hex')}\n`)
    },
  }
}

// The page is embedded in fabricd, so the build must give the same bytes everywhere, and only what the page needs: one
// script, one style sheet, no source maps. `npm run dev` passes requests on to a fabric: FABRIC=http://127.0.0.1:8420.
export default defineConfig({
  base: './',
  plugins: [sources()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: { '/api': { target: process.env.FABRIC ?? 'http://127.0.0.1:8420', changeOrigin: true } },
  },
})
