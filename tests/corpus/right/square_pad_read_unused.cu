//!tilelab block=(TILE_WIDTH, TILE_WIDTH)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float4 a[TILE_WIDTH][TILE_WIDTH / 4 + 1];
    __shared__ float b[TILE_WIDTH][TILE_WIDTH + 1];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        reinterpret_cast<float*>(a[y])[x] = M[i * Width + t + x];
        b[y][x] = N[(t + y) * Width + j];
        __syncthreads();
        float4 q = a[y][0];
        for (int k = 0; k < TILE_WIDTH; k += 4) {
            float4 nx = a[y][k / 4 + 1];     // last one is the pad, never used
            s += q.x * b[k][x] + q.y * b[k + 1][x] + q.z * b[k + 2][x] + q.w * b[k + 3][x];
            q = nx;
        }
        __syncthreads();
    }
    P[i * Width + j] = s;
}
