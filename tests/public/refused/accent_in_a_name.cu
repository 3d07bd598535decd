__global__ void MatrixMulKernel(float *a, float *b, float *c, int tamaño) {
    int fila = blockIdx.y * blockDim.y + threadIdx.y;
    int columna = blockIdx.x * blockDim.x + threadIdx.x;
    if (fila < tamaño && columna < tamaño) {
        float suma = 0;
        for (int k = 0; k < tamaño; k++) suma += a[fila * tamaño + k] * b[k * tamaño + columna];
        c[fila * tamaño + columna] = suma;
    }
}
