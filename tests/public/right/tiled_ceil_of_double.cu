#define TILE_WIDTH 8
__global__ void MatrixMulKernel(float *a, float *b, float *c, int cols) {
    __shared__ float sa[TILE_WIDTH][TILE_WIDTH], sb[TILE_WIDTH][TILE_WIDTH];
    int prow = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int pcol = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float Pvalue = 0;
    for (int i = 0; i < ceil(1.0 * cols / TILE_WIDTH); ++i) {
        int acol = i * TILE_WIDTH + threadIdx.x, brow = i * TILE_WIDTH + threadIdx.y;
        if (prow < cols && acol < cols) { sa[threadIdx.y][threadIdx.x] = a[prow * cols + acol]; }
        else { sa[threadIdx.y][threadIdx.x] = 0; }
        if (pcol < cols && brow < cols) { sb[threadIdx.y][threadIdx.x] = b[brow * cols + pcol]; }
        else { sb[threadIdx.y][threadIdx.x] = 0; }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += sa[threadIdx.y][k] * sb[k][threadIdx.x];
            __syncthreads();   // more often than needed
        }
    }
    if (prow < cols && pcol < cols) c[prow * cols + pcol] = Pvalue;
}
