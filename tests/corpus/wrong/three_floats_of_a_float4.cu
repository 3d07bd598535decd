#define T 16
//!tilelab tile=16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float4 row[T][T / 4];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * T + ty, c = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        if (tx % 4 != 3) ((float*)row[ty])[tx] = M[r * Width + k0 + tx];
        __syncthreads();
        for (int k = 0; k < T; k += 4) {
            float4 m = row[ty][k / 4];
            const float* n = &N[(k0 + k) * Width + c];
            sum += m.x * n[0] + m.y * n[Width] + m.z * n[2 * Width] + m.w * n[3 * Width];
        }
        __syncthreads();
    }
    P[r * Width + c] = sum;
}
