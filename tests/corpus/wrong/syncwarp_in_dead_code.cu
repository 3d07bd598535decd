//!tilelab block=(32,1) grid=(1,Width)
__device__ float2 pairs[128][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x, row = blockIdx.y;
    float2* mine = pairs[row];
    if (Width < 0) __syncwarp();
    for (int col = 0; col < Width; ++col) {
        float2 part = make_float2(0, 0);
        for (int k = lane; k < Width; k += 64) part.x += M[row * Width + k] * N[k * Width + col];
        for (int k = lane + 32; k < Width; k += 64) part.y += M[row * Width + k] * N[k * Width + col];
        mine[lane] = part;
        float all = 0;
        if (lane == col % 32) {
            for (int l = 0; l < 32; ++l) all += mine[l].x + mine[l].y;
            P[row * Width + col] = all;
        }
        __syncthreads();
    }
}
