#define T 16
//!tilelab tile=16 block=(T,T) grid=(Width/T,Width/T)
__device__ float4 tiles[64][T][T / 4];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    float4 (*mine)[T / 4] = tiles[blockIdx.y * gridDim.x + blockIdx.x];
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        if (tx < T / 4) mine[ty][tx] = *(float4*)&N[(k0 + ty) * Width + blockIdx.x * T + 4 * tx];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += M[row * Width + k0 + k] * ((float*)mine[k])[tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
