#define TILE_WIDTH 16
#define STEP(k) sum += a[ty][k] * b[k][tx]
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    float* m = M + (blockIdx.y * TILE_WIDTH + ty) * Width + tx;
    float* n = N + ty * Width + blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int left = Width; left > 0; left -= TILE_WIDTH, m += TILE_WIDTH, n += TILE_WIDTH * Width) {
        a[ty][tx] = *m;
        b[ty][tx] = *n;
        __syncthreads();
        STEP(0); STEP(1); STEP(2); STEP(3); STEP(4); STEP(5); STEP(6); STEP(7);
        STEP(8); STEP(9); STEP(10); STEP(11); STEP(12); STEP(13); STEP(14); STEP(15);
        __syncthreads();
    }
    P[(blockIdx.y * TILE_WIDTH + ty) * Width + blockIdx.x * TILE_WIDTH + tx] = sum;
}
