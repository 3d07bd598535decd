__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ __align__(8) float buf[2 * TILE_WIDTH * TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, tid = y * TILE_WIDTH + x;
    int i0 = blockIdx.y * TILE_WIDTH, j0 = blockIdx.x * TILE_WIDTH;
    float *a = buf, *b = buf + TILE_WIDTH * TILE_WIDTH, s = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        if (tid < TILE_WIDTH * TILE_WIDTH / 2) {
            int r = 2 * tid / TILE_WIDTH, c = 2 * tid % TILE_WIDTH;
            ((float2*)a)[tid] = *(float2*)&M[(i0 + r) * Width + t + c];
            ((float2*)b)[tid] = *(float2*)&N[(t + r) * Width + j0 + c];
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[y * TILE_WIDTH + k] * b[k * TILE_WIDTH + x];
        __syncthreads();
    }
    a[tid] = s;
    if (tid < TILE_WIDTH * TILE_WIDTH / 2) {
        int r = 2 * tid / TILE_WIDTH, c = 2 * tid % TILE_WIDTH;
        *(float2*)&P[(i0 + r) * Width + j0 + c] = ((float2*)a)[tid];
    }
}
