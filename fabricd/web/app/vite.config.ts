import { defineConfig } from 'vite'

// The page is embedded in fabricd, so the build must give the same bytes everywhere, and only what the page needs: one
// script, one style sheet, no source maps. `npm run dev` passes requests on to a fabric: FABRIC=http://127.0.0.1:8420.
export default defineConfig({
  base: './',
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
