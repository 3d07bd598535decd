//!tilelab block=(TILE_WIDTH/2, TILE_WIDTH)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float2 Ms[TILE_WIDTH][TILE_WIDTH / 2];
    __shared__ float2 Ns[TILE_WIDTH][TILE_WIDTH / 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, half = blockIdx.x * (TILE_WIDTH / 2) + tx, width2 = Width / 2;
    const float2* M2 = reinterpret_cast<const float2*>(M);
    const float2* N2 = reinterpret_cast<const float2*>(N);
    float2 sum = make_float2(0.0f, 0.0f);
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = M2[row * width2 + k0 / 2 + tx];
        Ns[ty][tx] = N2[(k0 + ty) * width2 + half];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH / 2; ++k) {
            float2 m = Ms[ty][k], a = Ns[2 * k][tx], b = Ns[2 * k + 1][tx];
            sum.x += m.x * a.x + m.y * b.x;
            sum.y += m.x * a.y + m.y * b.y;
        }
        __syncthreads();
    }
    reinterpret_cast<float2*>(P)[row * width2 + half] = sum;
}
