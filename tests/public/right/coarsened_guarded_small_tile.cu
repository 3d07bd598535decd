#define TILE_WIDTH 8
#define COARSE_FACTOR 2
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, const int w) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    float sum[COARSE_FACTOR] = {};
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y;
    for (int t = 0; t < (w + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
        int mc = t * TILE_WIDTH + threadIdx.x, nr = t * TILE_WIDTH + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = r < w && mc < w ? M[r * w + mc] : 0;
        for (int f = 0; f < COARSE_FACTOR; f++) {
            int c = (blockIdx.x * COARSE_FACTOR + f) * TILE_WIDTH + threadIdx.x;
            b[threadIdx.y][threadIdx.x] = nr < w && c < w ? N[nr * w + c] : 0;
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; k++) sum[f] += a[threadIdx.y][k] * b[k][threadIdx.x];
            __syncthreads();
        }
    }
    for (int f = 0; f < COARSE_FACTOR; f++) {
        int c = (blockIdx.x * COARSE_FACTOR + f) * TILE_WIDTH + threadIdx.x;
        if (r < w && c < w) P[r * w + c] = sum[f];
    }
}
