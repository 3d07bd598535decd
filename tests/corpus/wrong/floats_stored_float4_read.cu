#define T 16
//!tilelab tile=16
__device__ float4 rows[64][T][T / 4];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        ((float*)rows[b][ty])[tx] = M[row * Width + k0 + tx];
        for (int k = 0; k < T; k += 4) {
            float4 m = rows[b][ty][k / 4];
            const float* n = &N[(k0 + k) * Width + col];
            sum += m.x * n[0] + m.y * n[Width] + m.z * n[2 * Width] + m.w * n[3 * Width];
        }
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
