//!tilelab block=(TILE_WIDTH/2, TILE_WIDTH) grid=(Width/TILE_WIDTH, Width/TILE_WIDTH)
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float2 a[TILE_WIDTH][TILE_WIDTH / 2], b[TILE_WIDTH][TILE_WIDTH / 2];
    int tx = threadIdx.x, ty = threadIdx.y, half = Width / 2;
    const float2* M2 = (const float2*)M;
    const float2* N2 = (const float2*)N;
    int row = blockIdx.y * TILE_WIDTH + ty, pair = blockIdx.x * TILE_WIDTH / 2 + tx;
    float2 sum = {0, 0};
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        a[ty][tx] = M2[row * half + k0 / 2 + tx];
        b[ty][tx] = N2[(k0 + ty) * half + pair];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH / 2; ++k) {
            sum.x += a[ty][k].x * b[2 * k][tx].x + a[ty][k].y * b[2 * k + 1][tx].x;
            sum.y += a[ty][k].x * b[2 * k][tx].y + a[ty][k].y * b[2 * k + 1][tx].y;
        }
        __syncthreads();
    }
    ((float2*)P)[row * half + pair] = sum;
}
