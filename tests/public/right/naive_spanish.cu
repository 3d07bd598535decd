// Multiplicación de matrices cuadradas: cada hilo calcula un elemento de la matriz resultado.
__global__ void MatrixMulKernel(float *matrizA, float *matrizB, float *matrizC, int tam) {
    // posición del hilo en la malla
    int fila = blockIdx.y * blockDim.y + threadIdx.y;
    int columna = blockIdx.x * blockDim.x + threadIdx.x;
    float suma = 0.0f;

    if (fila < tam && columna < tam) {
        for (int k = 0; k < tam; k++) {
            suma = suma + matrizA[fila * tam + k] * matrizB[k * tam + columna];
        }
        matrizC[fila * tam + columna] = suma; // se guarda el resultado
    }
}
